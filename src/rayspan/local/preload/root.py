"""The first process of a local deployment: it starts all the others and outlives them.

A deployment of two engines starts some twenty Python processes, six of which import vLLM: most of
its start-up time, and most of its memory beside weights and KV cache. Forked from a process that
has done the imports, they share both. `ray` has Ray imported, for Ray's own processes; `engine`
has vLLM and Ray Serve LLM, for the replicas and the engine processes they start.

Every process of the deployment descends from this one, however its own parent ends. It ends them
all when it gets SIGTERM, and when the Ray head process ends, so that nothing is left of a broken
cluster.
"""

import gc
import importlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rayspan.local.preload.child import Forked
from rayspan.local.preload.server import PreloadServer, foreign_threads
from rayspan.local.preload.tree import adopt_orphans, end_descendants, reap_orphans

RAY_MODULES = ("ray.serve", "ray._private.node", "ray.dashboard.head", "ray._private.log_monitor")
VLLM_MODULES = ("vllm.entrypoints.openai.api_server",)
# These import Ray, which takes the job and the raylet it works for from the environment when it is
# imported: they wait until both are known.
ENGINE_MODULES = (
    "vllm.v1.engine.async_llm",
    "vllm.v1.engine.core",
    "vllm.v1.executor.multiproc_executor",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.attention.backends.cpu_attn",
    "vllm.distributed.kv_transfer.kv_connector.v1.nixl.connector",
    "ray.llm._internal.serve.engines.vllm.vllm_engine",
    "ray.serve.llm",
)
ENGINE_ENVIRONMENT = "engine-environment.json"


def serve_ray(folder: Path, owner: int) -> Forked | None:
    """Preloads Ray and serves `ray.sock`."""
    have, stand_in, listener = _prepare(folder, "ray")
    _load(RAY_MODULES, "ray")
    return PreloadServer(listener, stand_in, have, owner).serve()


def serve_engine(folder: Path, owner: int) -> Forked | None:
    """Preloads vLLM, waits for the cluster's facts, preloads the rest and serves `engine.sock`."""
    have, stand_in, listener = _prepare(folder, "engine")
    _load(VLLM_MODULES, "vllm")
    while not (facts := folder / ENGINE_ENVIRONMENT).exists():
        time.sleep(0.02)
        if os.getppid() != owner:
            return None
    environment = json.loads(facts.read_text())
    os.environ.update(environment)
    _load(ENGINE_MODULES, "engine")
    return PreloadServer(listener, stand_in, have | environment, owner).serve()


def _prepare(folder: Path, name: str) -> tuple[dict[str, str], str, socket.socket]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder / f"{name}.sock"))
    listener.listen(64)
    return dict(os.environ), _write_stand_in(folder, name), listener


def _write_stand_in(folder: Path, name: str) -> str:
    """An executable that takes an interpreter's arguments and asks `<name>.sock` for a fork."""
    script, python = folder / f"{name}-python", sys.executable
    stand_in = str(Path(__file__).with_name("stand_in.py"))
    command = shlex.join([python, "-IS", stand_in, python, str(folder / f"{name}.sock")])
    partial = script.with_suffix(".partial")
    partial.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    partial.chmod(0o700)
    partial.rename(script)
    return str(script)


def _load(modules: Sequence[str], label: str) -> None:
    start = time.monotonic()
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # collecting in a fork would copy every shared page
    seconds = time.monotonic() - start
    print(f"preloaded {label} in {seconds:.1f} s; other threads: {foreign_threads()}", flush=True)


def main(folder: Path, preload: bool, module: str) -> Forked | None:
    """Starts servers and head, and stays until told or forced to end. Returns in forks only."""
    adopt_orphans()
    root = os.getpid()
    for serve in (serve_ray, serve_engine) if preload else ():
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return serve(folder, root)
    head = _start_head(folder, preload, module)
    while head.poll() is None:
        signal.sigtimedwait({signal.SIGCHLD}, 1.0)
        reap_orphans(kept={head.pid})
    return _end(1)


def _start_head(folder: Path, preload: bool, module: str) -> subprocess.Popen[bytes]:
    python, deadline = folder / "ray-python", time.monotonic() + 10
    while preload and not python.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    command = [str(python) if preload else sys.executable, "-m", module, str(folder)]
    with (folder / "head.log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603  (a stand-in or this interpreter)
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def _end(status: int) -> NoReturn:
    end_descendants()
    os._exit(status)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda _number, _frame: _end(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this decides
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    if forked := main(Path(sys.argv[1]), preload=sys.argv[2] == "preload", module=sys.argv[3]):
        sys.exit(forked.become())
