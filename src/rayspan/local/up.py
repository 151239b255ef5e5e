"""Brings a spec up on this machine: checks, model, cluster, engines, record."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from rayspan.adapters import processes
from rayspan.errors import WorldError
from rayspan.local import cluster, engine_logs, host, model_source
from rayspan.local.environment import (
    check_stack_installed,
    cluster_environment,
    head_settings,
    shared_environment,
)
from rayspan.local.run_folder import (
    Deployment,
    Node,
    read_record,
    read_root_pid,
    run_folder,
    write_record,
)
from rayspan.render import render_serve_config
from rayspan.spec import Spec

_POLL_S = 0.1
_READY_TIMEOUT_S = 900.0


class Progress(Protocol):
    """Shows how far `up` has come."""

    def step(self, name: str) -> None:
        """A new step begins; the one before is done."""

    def engines(self, engines: list[engine_logs.EngineProgress]) -> None:
        """Where each engine stands now."""


def up(spec: Spec, progress: Progress, preload: bool = True) -> Deployment:
    """Starts `spec` and returns once Serve reports it running.

    On any error, and when interrupted, everything started is ended first. Raises WorldError when
    the machine cannot hold it, something is in the way, or an engine dies; InputError for a bad
    model folder.
    """
    folder = run_folder()
    check_stack_installed()
    with _only_one(folder):
        progress.step("checking this machine")
        host.check_disk(folder)
        host.check_ports(spec)
        progress.step("preparing the model")
        model = model_source.resolve_model(spec)
        host.check_memory(spec, model)
        try:
            return _start(spec, model, folder, progress, preload and spec.target.device == "cpu")
        except BaseException:
            _keep_logs(folder)
            cluster.end_cluster(folder, root_pid=None)
            raise


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
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


def _start(spec: Spec, model: str, folder: Path, progress: Progress, preload: bool) -> Deployment:
    progress.step("starting Ray")
    config = render_serve_config(spec, model_source=model).to_dict()
    env = cluster_environment(spec, shared_environment(config))
    root = cluster.start_root(folder, env, head_settings(spec, folder), preload)
    try:
        head = cluster.wait_for_head(folder, root)
        progress.step("starting engines")
        if preload:
            executable = str(folder / "engine-python")
            config["applications"][0].setdefault("runtime_env", {})["py_executable"] = executable
        cluster.deploy(head, config)
        _wait_for_engines(head, root, progress)
    except BaseException:
        _keep_logs(folder)
        cluster.end_cluster(folder, root)
        raise
    deployment = Deployment(
        spec=spec,
        model_folder=model,
        api_base=f"http://{spec.target.host}:{spec.target.port}",
        dashboard=head.dashboard,
        nodes=(Node("head", "127.0.0.1", root, head.metrics_url, head.log_folder, "lo"),),
    )
    write_record(folder, deployment)
    return deployment


def _wait_for_engines(head: cluster.Head, root: int, progress: Progress) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while (app := cluster.read_app(head.dashboard)).state != "RUNNING":
        progress.engines(engine_logs.read_progress(head.log_folder))
        if cause := engine_logs.find_death(head.log_folder):
            raise WorldError(f"an engine died while starting: {cause}", fix=_where_logs())
        if app.state in ("DEPLOY_FAILED", "UNHEALTHY"):
            raise WorldError(f"Serve could not start the engines: {app.message}", fix=_where_logs())
        if not processes.is_alive(root):
            raise WorldError("Ray ended while the engines were starting", fix=_where_logs())
        if time.monotonic() > deadline:
            raise WorldError(f"the engines were not ready after {_READY_TIMEOUT_S:.0f} s")
        time.sleep(_POLL_S)
    progress.engines(engine_logs.read_progress(head.log_folder))


def failed_logs_folder() -> Path:
    """Where the logs of the last failed start are kept."""
    folder = run_folder()
    return folder.with_name(f"{folder.name}-failed")


def _where_logs() -> str:
    return f"the logs are kept in {failed_logs_folder()}"


def _keep_logs(folder: Path) -> None:
    kept = failed_logs_folder()
    for logs in folder.glob("ray/session_2*/logs"):
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(logs, kept, ignore_dangling_symlinks=True, dirs_exist_ok=True)
