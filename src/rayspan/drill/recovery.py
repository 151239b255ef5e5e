"""Waits until a deployment is whole again."""

import time
from collections.abc import Collection

from rayspan.adapters.replicas import read_app
from rayspan.drill.scene import Scene
from rayspan.errors import WorldError
from rayspan.local.run_folder import Deployment

_PATIENCE_S = 240.0
_ASK_S = 20.0
_POLL_S = 0.5
_IN_A_ROW = 4


def is_whole(deployment: Deployment, gone: Collection[str] = ()) -> bool:
    """Every replica of the spec runs, and none of `gone` is among them."""
    app = read_app(deployment.dashboard)
    for role, pool in deployment.spec.pools().items():
        running = {r.replica for r in app.replicas if r.role == role and r.state == "RUNNING"}
        if len(running) != pool.replicas or running & set(gone):
            return False
    return True


def wait_for_replicas(deployment: Deployment, gone: Collection[str]) -> None:
    """Until others stand where those of `gone` were. Raises WorldError when they do not come."""
    deadline = time.monotonic() + _PATIENCE_S
    while not is_whole(deployment, gone):
        if time.monotonic() > deadline:
            raise WorldError(f"replicas did not return within {_PATIENCE_S:.0f} s")
        time.sleep(_POLL_S)


def recover(scene: Scene) -> float | None:
    """Seconds from the fault until all replicas run and several clients in a row were answered, the
    first of them counted; None when that does not happen.

    The answers are judged like all others.
    """
    deadline = time.monotonic() + _PATIENCE_S
    since, streak = 0.0, 0
    while time.monotonic() < deadline:
        began = time.monotonic()
        whole = is_whole(scene.deployment)
        got = scene.crowd.ask(scene.prompts(1)[0], _ASK_S)
        if not whole or not got.has_tokens:
            streak = 0
            time.sleep(_POLL_S)
            continue
        since = since if streak else began
        streak += 1
        if streak == _IN_A_ROW:
            return round(since - scene.began_s, 1)
    return None
