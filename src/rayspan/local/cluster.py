"""Starts and ends the processes of a local deployment."""

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayspan.adapters import http, processes
from rayspan.errors import WorldError
from rayspan.local.head import FACTS, HEAD, SETTINGS
from rayspan.local.run_folder import write_root_pid

_START_TIMEOUT_S = 120.0
_SETTLE_S = 0.05


@dataclass(frozen=True, slots=True)
class Head:
    """Where a started Ray cluster answers."""

    root_pid: int
    dashboard: str
    metrics_url: str
    log_folder: Path
    gcs_address: str
    job_id: str


def start_root(folder: Path, env: dict[str, str], settings: object, preload: bool) -> int:
    """Starts the deployment's first process over a fresh run folder; its pid."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / SETTINGS).write_text(json.dumps(settings))
    pid = processes.start_detached(root_command(folder, HEAD, preload), env, folder / "root.log")
    write_root_pid(folder, pid)
    return pid


def root_command(folder: Path, module: str, preload: bool) -> list[str]:
    """The first process of a node; `module` is what joins or heads the Ray cluster below it."""
    mode = "preload" if preload else "plain"
    return [sys.executable, "-P", "-m", "rayspan.local.preload.root", str(folder), mode, module]


def wait_for_head(folder: Path, root_pid: int) -> Head:
    """Raises WorldError with Ray's last words when the cluster does not come up."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not (folder / FACTS).exists():
        if not processes.is_alive(root_pid):
            raise WorldError(f"Ray did not start: {_last_words(folder)}")
        if time.monotonic() > deadline:
            raise WorldError(f"Ray did not start within {_START_TIMEOUT_S:.0f} s")
        time.sleep(_SETTLE_S)
    facts = json.loads((folder / FACTS).read_text())
    return Head(
        root_pid=root_pid,
        dashboard=facts["dashboard"],
        metrics_url=facts["metrics_url"],
        log_folder=Path(facts["log_folder"]),
        gcs_address=facts["gcs_address"],
        job_id=facts["job_id"],
    )


def _last_words(folder: Path) -> str:
    for name in ("head.log", "root.log"):
        log = folder / name
        if log.exists() and (lines := log.read_text(errors="replace").strip().splitlines()):
            return lines[-1]
    return "it left no log"


def deploy(dashboard: str, config: dict[str, Any], preloaded: Path | None) -> None:
    """Hands Serve its configuration through the same API as `serve deploy`.

    `preloaded`: the folder in which every node finds the stand-in for its engines' Python.
    """
    if preloaded:
        environment = config["applications"][0].setdefault("runtime_env", {})
        environment["py_executable"] = str(preloaded / "engine-python")
    http.put_json(f"{dashboard}/api/serve/applications/", config)


@dataclass(frozen=True, slots=True)
class AppStatus:
    """Serve's view of the one application."""

    state: str  # DEPLOYING, RUNNING, DEPLOY_FAILED, UNHEALTHY, NOT_STARTED, ...
    message: str


def read_app(dashboard: str) -> AppStatus:
    answer = http.get_json(f"{dashboard}/api/serve/applications/")
    if answer is None or not (app := answer.get("applications", {}).get("default")):
        return AppStatus("NOT_STARTED", "")
    return AppStatus(app["status"], app["message"])


def end_cluster(folder: Path, root_pid: int | None) -> int:
    """Ends every process of the deployment and removes its folder; how many had to be hunted down.

    The root ends its whole tree. Where it was killed itself, what holds a file of the run folder
    belonged to it.
    """
    if root_pid and _is_root(root_pid, folder):
        processes.end(root_pid, patience_s=15.0)
    hunted = _end_holders(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return hunted


def _is_root(pid: int, folder: Path) -> bool:
    """A recorded pid may have been given to another process since."""
    return processes.is_alive(pid) and pid in processes.holders_of(folder)


def _end_holders(folder: Path) -> int:
    ended = 0
    deadline = time.monotonic() + 10
    while (pids := processes.holders_of(folder)) and time.monotonic() < deadline:
        processes.kill_all(pids)
        ended += len(pids)
        time.sleep(0.1)
    return ended
