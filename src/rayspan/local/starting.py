"""What every way to start a deployment shares: one at a time, waiting for engines, kept logs."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from rayspan.adapters import processes
from rayspan.errors import WorldError
from rayspan.local import cluster, engine_logs
from rayspan.local.run_folder import read_record, read_root_pid, run_folder

_POLL_S = 0.1
_READY_TIMEOUT_S = 900.0


class Progress(Protocol):
    """Shows how far a start has come."""

    def step(self, name: str) -> None:
        """A new step begins; the one before is done."""

    def engines(self, engines: list[engine_logs.EngineProgress]) -> None:
        """Where each engine stands now."""


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Holds the folder's lock during a start. Raises WorldError when one is up or starting."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise WorldError("another `rayspan up` is starting a deployment") from error
        root = read_root_pid(folder)
        if root and processes.is_alive(root):
            raise WorldError(_already_up(folder), fix="`rayspan down` ends it")
        cluster.end_cluster(folder, root_pid=None)  # what an earlier, killed one left
        yield


def _already_up(folder: Path) -> str:
    record = read_record(folder)
    return (
        f"{record.spec.name} is already up at {record.api_base}" if record else "already starting"
    )


def wait_for_engines(
    dashboard: str, log_folders: Sequence[Path], roots: Sequence[int], progress: Progress
) -> None:
    """Returns once Serve reports the application running.

    `roots`: the nodes' first processes. Raises WorldError when an engine or a node dies.
    """
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while (app := cluster.read_app(dashboard)).state != "RUNNING":
        progress.engines(engine_logs.read_progress(log_folders))
        if cause := engine_logs.find_death(log_folders):
            raise WorldError(f"an engine died while starting: {cause}", fix=where_logs())
        if app.state in ("DEPLOY_FAILED", "UNHEALTHY"):
            raise WorldError(f"Serve could not start the engines: {app.message}", fix=where_logs())
        if not all(map(processes.is_alive, roots)):
            raise WorldError("Ray ended while the engines were starting", fix=where_logs())
        if time.monotonic() > deadline:
            raise WorldError(f"the engines were not ready after {_READY_TIMEOUT_S:.0f} s")
        time.sleep(_POLL_S)
    progress.engines(engine_logs.read_progress(log_folders))


def failed_logs_folder() -> Path:
    """Where the logs of the last failed start are kept."""
    folder = run_folder()
    return folder.with_name(f"{folder.name}-failed")


def where_logs() -> str:
    return f"the logs are kept in {failed_logs_folder()}"


def keep_logs(folder: Path) -> None:
    """Copies Ray's logs out of a run folder that is about to be removed."""
    kept = failed_logs_folder()
    found = [*folder.glob("ray/session_2*/logs"), *folder.glob("hosts/*/ray/session_2*/logs")]
    if found:
        shutil.rmtree(kept, ignore_errors=True)
    for logs in found:
        node = logs.relative_to(folder).parts[1] if len(found) > 1 else ""
        shutil.copytree(logs, kept / node, ignore_dangling_symlinks=True, dirs_exist_ok=True)
