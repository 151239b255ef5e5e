"""Faults of hosts and of the links between them. They need a lab."""

import contextlib
import time
from collections.abc import Iterator
from itertools import product

from rayspan.drill.scene import Scene
from rayspan.errors import RayspanError
from rayspan.lab import faults
from rayspan.lab.state import current_lab

_DRAIN_S = 20


def cut_for_a_second(scene: Scene) -> None:
    with _cut_while_handed_over(scene):
        time.sleep(1)


def cut_for_ten_seconds(scene: Scene) -> None:
    with _cut_while_handed_over(scene):
        time.sleep(10)


def cut_for_good(scene: Scene) -> None:
    """Until every client has an answer or lost patience."""
    with _cut_while_handed_over(scene):
        scene.crowd.gather()


@contextlib.contextmanager
def _cut_while_handed_over(scene: Scene) -> Iterator[None]:
    """Some clients are past prefill when the links break, others come later."""
    with contextlib.ExitStack() as stack:
        with scene.handed_over():
            for one, other in _links(scene):
                faults.cut(one, other)
                stack.callback(faults.heal, one, other)
            scene.fault()
        scene.crowd.send(scene.prompts())
        yield


def _links(scene: Scene) -> list[tuple[str, str]]:
    assert scene.lab
    hosts = scene.lab.layout.hosts
    prefill, decode = ([h.name for h in hosts if r in h.roles] for r in ("prefill", "decode"))
    return list(product(prefill, decode))


def kill_head(scene: Scene) -> None:
    """All goes with it: Serve's controller, the endpoint, Ray's memory of the cluster."""
    scene.crowd.send(scene.prompts())
    faults.kill("head")
    scene.fault()
    scene.crowd.gather()
    faults.give_back("head")
    _refresh(scene)


def drain_host(scene: Scene) -> None:
    """Ray is told that the host will go, then it goes, and returns."""
    assert scene.lab
    host = scene.lab.layout.hosts[-1].name
    scene.crowd.send(scene.prompts())
    faults.drain(host, _DRAIN_S)
    scene.fault()
    scene.crowd.send(scene.prompts())
    time.sleep(_DRAIN_S)
    with contextlib.suppress(RayspanError):  # it may have gone by itself
        faults.kill(host)
    faults.give_back(host)
    _refresh(scene)


def _refresh(scene: Scene) -> None:
    """A host that returned has other processes."""
    scene.lab, scene.deployment = current_lab()
