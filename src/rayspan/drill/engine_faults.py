"""Faults of engines: they die, or stand still."""

import time

from rayspan.adapters import processes
from rayspan.drill.recovery import wait_for_replicas
from rayspan.drill.scene import Scene
from rayspan.spec import Role

_PAST_LEASE_S = 2.0
_MANY = 8
_LONG_ANSWER = 64
_IN_MIDST_S = 0.5


def kill_prefill_idle(scene: Scene) -> None:
    """The engine alone dies, and its replica must notice; clients ask right afterwards."""
    victim = scene.replicas("prefill")[0]
    processes.kill_all(victim.pids[1:])
    scene.fault()
    scene.crowd.send(scene.prompts())


def kill_prefill_in_handshake(scene: Scene) -> None:
    """A prefill engine that decode never spoke to: it stands still when decode greets it, and
    dies."""
    old = scene.replicas("prefill")
    for replica in old:
        processes.kill_all(replica.pids)
    wait_for_replicas(scene.deployment, {replica.replica for replica in old})
    _kill_while_reading(scene)


def kill_prefill_in_read(scene: Scene) -> None:
    """Decode knows the engine, and waits for its bytes when it dies."""
    scene.crowd.send(scene.prompts())
    scene.crowd.gather()
    _kill_while_reading(scene)


def _kill_while_reading(scene: Scene) -> None:
    with scene.reading():
        _kill(scene, "prefill")
        scene.fault()
        scene.crowd.send(scene.prompts())


def kill_decode(scene: Scene) -> None:
    """In the middle of answers, and again while the new one is asked for the first time; it returns
    on the same address."""
    scene.crowd.send(scene.prompts(), _LONG_ANSWER)
    time.sleep(_IN_MIDST_S)
    scene.expect("clients waiting for answers", scene.crowd.waiting, 1)
    _kill(scene, scene.answering)
    scene.fault()
    scene.crowd.send(scene.prompts())


def _kill(scene: Scene, role: Role) -> None:
    victim = scene.replicas(role)[0]
    processes.kill_all(victim.pids)


def freeze_prefill(scene: Scene) -> None:
    """It answered, stands still beyond the lease, and wakes up with other prompts to compute."""
    with scene.reading():
        scene.fault()
        scene.crowd.send(scene.prompts(_MANY))
        time.sleep(scene.target.lease_s + _PAST_LEASE_S)


def late_decode(scene: Scene) -> None:
    """Decode comes to the prompts when their lease is over, and prefill gave their blocks away."""
    with scene.handed_over():
        scene.fault()
        time.sleep(scene.target.lease_s + _PAST_LEASE_S)
        scene.expect("clients whose lease ran out", scene.crowd.waiting, 1)
        fillers = scene.cache_tokens("prefill") // scene.longest() + 1
        fillers *= len(scene.replicas("prefill"))
        began = scene.computed()
        scene.crowd.send(scene.prompts(fillers, scene.longest()))
        scene.wait_for_prefill(began, fillers)
