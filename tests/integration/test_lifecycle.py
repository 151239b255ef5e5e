"""Bad input and bad luck: one clear error, and nothing left running."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rayspan.adapters import processes
from rayspan.local.run_folder import VARIABLE
from tests.integration.conftest import RAYSPAN, Stack

PORTS = (8000, 8265, 20000, 22000)
DYING = """
model: {id: m, source: "builtin:smollm2-135m", max_model_len: 4096, dtype: float32}
serving:
  kind: prefill-decode
  prefill: {block_size: 32, kv_cache: 8MiB}
  decode: {block_size: 32, kv_cache: 8MiB}
"""


@pytest.fixture
def idle(stack: Stack) -> Iterator[Stack]:
    """The stack with nothing up, before and after."""
    stack.down()
    yield stack
    stack.down()


def assert_nothing_is_left(stack: Stack, shm_before: set[str]) -> None:
    assert processes.holders_of(stack.folder) == []
    assert not stack.folder.exists()
    assert [port for port in PORTS if processes.listener_on("127.0.0.1", port)] == []
    assert shared_memory() <= shm_before


def shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir()}


@contextlib.contextmanager
def running_up(stack: Stack) -> Iterator[subprocess.Popen[str]]:
    """`rayspan up` in the foreground; gone afterwards, whatever the test did to it."""
    with subprocess.Popen(
        [RAYSPAN, "up"],
        env={**os.environ, VARIABLE: str(stack.folder), "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"{words!r} was never printed")


@pytest.mark.parametrize(
    "stage",
    ["checking this machine", "starting Ray", "starting engines", "decode", "up; Ctrl-C"],
)
def test_ctrl_c_takes_everything_down(idle: Stack, stage: str) -> None:
    before = shared_memory()
    with running_up(idle) as process:
        read_until(process, stage)
        process.send_signal(signal.SIGINT)
        _output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert_nothing_is_left(idle, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_terminated_takes_everything_down(idle: Stack, number: signal.Signals) -> None:
    before = shared_memory()
    with running_up(idle) as process:
        read_until(process, "decode")
        process.send_signal(number)
        process.send_signal(signal.SIGINT)  # an impatient second one changes nothing
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert_nothing_is_left(idle, before)


def test_down_ends_a_foreground_deployment(idle: Stack) -> None:
    before = shared_memory()
    with running_up(idle) as process:
        read_until(process, "up; Ctrl-C")
        assert idle.run("down").stdout == "down\n"
        _output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip()) == (0, "the deployment was ended")
    assert_nothing_is_left(idle, before)


@pytest.mark.parametrize("victim", ["root", "up", "raylet", "everything but engines"])
def test_down_cleans_up_after_a_crash(idle: Stack, victim: str) -> None:
    with running_up(idle) as process:
        read_until(process, "up; Ctrl-C")
        deployed = [psutil.Process(pid) for pid in processes.holders_of(idle.folder)]
        for one in victims(victim, process, deployed):
            processes.kill_all([one])
        time.sleep(2)
        assert idle.run("down").returncode == 0
    assert processes.holders_of(idle.folder) == []
    assert [port for port in PORTS if processes.listener_on("127.0.0.1", port)] == []


def victims(name: str, up: subprocess.Popen[str], deployed: list[psutil.Process]) -> list[int]:
    if name == "up":
        return [up.pid]
    if name == "root":
        return [
            p.pid for p in deployed if "rayspan.local.preload.root" in p.cmdline() and p.ppid() == 1
        ]
    if name == "raylet":
        return [p.pid for p in deployed if p.name() == "raylet"]
    return [p.pid for p in deployed if not p.cmdline()[0].startswith("VLLM::")]


def test_down_cleans_up_after_ray_stop(idle: Stack) -> None:
    idle.serve()
    subprocess.run([Path(sys.executable).with_name("ray"), "stop", "--force"], check=False)
    assert idle.run("down").returncode == 0
    assert processes.holders_of(idle.folder) == []
    assert [port for port in PORTS if processes.listener_on("127.0.0.1", port)] == []


def test_up_twice_names_what_is_up(stack: Stack) -> None:
    stack.serve()
    second = stack.run("up", "--detach")
    assert second.returncode == 3
    assert "rayspan is already up at http://127.0.0.1:8000" in second.stderr
    assert stack.run("chat", "hello", "--max-tokens", "4").returncode == 0


def test_nothing_up(idle: Stack) -> None:
    assert idle.run("down").stdout == "nothing was up\n"
    for command in ("status", "chat", "verify"):
        result = idle.run(command)
        assert (result.returncode, result.stdout) == (3, "")
        assert "nothing is up on this machine" in result.stderr


def test_a_dead_engine_shows_its_own_error(idle: Stack) -> None:
    before = shared_memory()
    spec = idle.folder.with_name("dying.yaml")
    spec.write_text(DYING)
    result = idle.run("up", str(spec))
    assert result.returncode == 3
    assert (
        "an engine died while starting: ValueError: To serve at least one request" in result.stderr
    )
    assert "Traceback" not in result.stderr
    assert_nothing_is_left(idle, before)


@pytest.mark.parametrize("port", PORTS)
def test_a_taken_port_is_named_before_anything_starts(idle: Stack, port: int) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        result = idle.run("up")
    assert result.returncode == 3
    assert f"port {port} for " in result.stderr
    assert f"(pid {os.getpid()})" in result.stderr
    assert not idle.folder.exists()


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("modle: {}\n", 2, '1:1: modle: unknown field; did you mean "model"?'),
        (DYING.replace("8MiB", "900GiB"), 3, "GiB of memory and"),
        (DYING.replace("builtin:smollm2-135m", "/nowhere"), 2, "/nowhere is not a folder"),
        (DYING.replace("builtin:smollm2-135m", "/etc"), 2, "/etc has no config.json, no weights"),
        (DYING.replace("builtin:smollm2-135m", "builtin:gpt"), 2, "allowed: builtin:smollm2-135m"),
    ],
)
def test_a_bad_spec_starts_nothing(idle: Stack, text: str, status: int, words: str) -> None:
    spec = idle.folder.with_name("bad.yaml")
    spec.write_text(text)
    result = idle.run("up", str(spec))
    assert (result.returncode, words in result.stderr) == (status, True), result.stderr
    assert processes.holders_of(idle.folder) == []


def test_no_engine_is_pinned_to_a_core(stack: Stack) -> None:
    """vLLM's NIXL worker pins every CPU engine to the same core unless it is kept from it."""
    deployment = stack.serve()
    mine = os.sched_getaffinity(0)
    for process in psutil.Process(deployment.root_pid).children(recursive=True):
        assert set(process.cpu_affinity() or ()) == mine, process


def test_every_rayspan_port_is_on_loopback(stack: Stack) -> None:
    """Ray's dashboard, GCS, raylet and metrics, the endpoint, and NIXL's side channel and wire."""
    deployment = stack.serve()
    stack.run("chat", "hello", "--max-tokens", "4", check=True)
    tree = {p.pid: p.name() for p in psutil.Process(deployment.root_pid).children(recursive=True)}
    listening = [
        (tree[c.pid], c.laddr.ip, c.laddr.port)
        for c in psutil.net_connections(kind="tcp")
        if c.pid in tree and c.status == psutil.CONN_LISTEN and c.laddr
    ]
    # torch's rendezvous store and Serve's calls between replicas bind to all interfaces; neither
    # can be told otherwise (docs/explanation/security.md).
    elsewhere = [(name, ip) for name, ip, _port in listening if not ip.endswith("127.0.0.1")]
    assert {ip for _name, ip in elsewhere} <= {"::"}
    assert {name for name, _ip in elsewhere}.isdisjoint({"gcs_server", "raylet"})
    assert set(PORTS) <= {port for _name, ip, port in listening if ip.endswith("127.0.0.1")}
