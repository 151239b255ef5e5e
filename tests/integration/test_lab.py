"""Specs on several hosts of this machine: what crosses the wire, faults, and no trace left."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from rayspan.errors import RayspanError
from rayspan.lab import network
from rayspan.local.run_folder import Deployment, read_record
from tests.integration.conftest import Stack
from tests.integration.test_verify import ALL_PASS, verdicts, verify
from tests.tree import ROOT

BODY = {"model": "smollm2-135m", "prompt": "The capital of France is", "max_tokens": 4}
RECOVERY_S = 300


def why_not() -> str:
    if not os.environ.get("RAYSPAN_TEST_LAB"):
        return "takes ten minutes and root: set RAYSPAN_TEST_LAB=1"
    try:
        return network.why_refused()
    except RayspanError as error:
        return error.message


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "namespaces can be made")


@pytest.fixture(scope="module")
def hosts(stack: Stack) -> Iterator[Stack]:
    """A command line for labs, with a run folder of its own."""
    stack.down()
    lab = Stack(Path(f"/tmp/rsl-{os.getpid()}"))
    yield lab
    lab.run("lab", "down")


def start(lab: Stack, *arguments: str) -> Deployment:
    result = lab.run("lab", "up", "--detach", *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    record = read_record(lab.folder)
    assert record
    return record


@pytest.fixture(scope="module")
def one_pair(hosts: Stack) -> Deployment:
    """The built-in spec: prefill on one host, decode on another."""
    return start(hosts)


def ask(deployment: Deployment, patience_s: float = 90) -> httpx.Response:
    body = BODY | {"model": deployment.spec.model.id, "temperature": 0}
    return httpx.post(f"{deployment.api_base}/v1/completions", json=body, timeout=patience_s)


def text_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["text"])


def replicas(lab: Stack) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(lab.run("status", "--json").stdout)["replicas"]
    return found


def test_every_check_passes_and_the_kv_cache_crossed_the_wire(
    hosts: Stack, one_pair: Deployment
) -> None:
    checks = verify(hosts)
    assert verdicts(checks) == ALL_PASS, checks
    assert "worker-2 eth0" in checks["wire"]["summary"]


def test_status_shows_hosts_and_what_they_hold(hosts: Stack, one_pair: Deployment) -> None:
    shown = json.loads(hosts.run("lab", "status", "--json").stdout)
    assert [(h["name"], h["state"], h["roles"]) for h in shown] == [
        ("head", "up", {}),
        ("worker-1", "up", {"prefill": 1}),
        ("worker-2", "up", {"decode": 1}),
    ]
    assert sum(h["memory_bytes"] for h in shown) < 16 << 30
    for replica in replicas(hosts):
        assert replica["state"] == "RUNNING"
        assert len(replica["pids"]) >= 2
        assert all(psutil.pid_exists(pid) for pid in replica["pids"])
    assert [r["node"] for r in replicas(hosts)] == ["10.213.0.11", "10.213.0.12"]


def test_a_host_has_namespaces_of_its_own(hosts: Stack, one_pair: Deployment) -> None:
    for node in one_pair.nodes:
        for kind in ("net", "ipc", "pid", "mnt"):
            theirs = Path(f"/proc/{node.root_pid}/ns/{kind}").readlink()
            assert theirs != Path(f"/proc/self/ns/{kind}").readlink()
    seen = hosts.run("lab", "exec", "worker-1", "--", "sh", "-c", "ls /dev/shm | wc -l; ip -br a")
    assert "10.213.0.11/24" in seen.stdout, seen


def test_the_wire_check_fails_on_a_pair_that_shares_memory(
    hosts: Stack, one_pair: Deployment
) -> None:
    result = hosts.run("verify", "--negative-control", "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    control = json.loads(result.stdout)["checks"][0]
    assert (control["name"], control["verdict"]) == ("control", "pass"), control
    assert not [name for name in network.leftovers("rayspan-nc") if name]


def test_a_short_cut_costs_time_or_an_error_but_never_a_wrong_answer(
    hosts: Stack, one_pair: Deployment
) -> None:
    right = text_of(ask(one_pair))
    assert hosts.run("lab", "cut", "worker-1", "worker-2").returncode == 0
    assert json.loads(hosts.run("lab", "status", "--json").stdout)[1]["cut_from"] == ["worker-2"]
    seen: list[httpx.Response] = []
    client = threading.Thread(target=lambda: seen.append(ask(one_pair)))
    client.start()
    time.sleep(1)
    assert hosts.run("lab", "heal", "worker-1", "worker-2").returncode == 0
    client.join(120)
    for answer in seen:
        assert answer.status_code >= 500 or text_of(answer) == right
    assert recovered(one_pair, right)


def test_a_killed_host_returns_under_its_address(hosts: Stack, one_pair: Deployment) -> None:
    right = text_of(ask(one_pair))
    assert hosts.run("lab", "kill", "worker-1").returncode == 0
    assert json.loads(hosts.run("lab", "status", "--json").stdout)[1]["state"] == "down"
    again = hosts.run("lab", "kill", "worker-1")
    assert (again.returncode, "down already" in again.stderr) == (3, True)
    returned = hosts.run("lab", "return", "worker-1")
    assert returned.returncode == 0, returned.stderr
    assert recovered(one_pair, right)


def recovered(deployment: Deployment, right: str) -> bool:
    """Whether the endpoint answers rightly again; a wrong answer on the way is none."""
    deadline = time.monotonic() + RECOVERY_S
    while time.monotonic() < deadline:
        try:
            answer = ask(deployment, 30)
        except httpx.TransportError:
            continue
        if answer.status_code == 200:
            return text_of(answer) == right
        time.sleep(1)
    return False


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["up"], "is already up at http://10.213.0.10:8000"),
        (["cut", "worker-1", "worker-1"], "allowed: two different hosts"),
        (["kill", "worker-7"], "no host 'worker-7'; allowed: head, worker-1, worker-2"),
        (["return", "worker-2"], "worker-2 is up"),
    ],
)
def test_bad_input_is_one_line(
    hosts: Stack, one_pair: Deployment, command: list[str], words: str
) -> None:
    result = hosts.run("lab", *command)
    assert result.returncode in (2, 3)
    assert words in result.stderr


def test_down_leaves_no_trace(hosts: Stack, one_pair: Deployment) -> None:
    assert network.leftovers("rayspan-lab")
    assert hosts.run("down").returncode == 0
    assert network.leftovers("rayspan-lab") == []
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True)
    assert "rayspan" not in links.stdout
    assert not [p for p in psutil.process_iter() if str(hosts.folder) in " ".join(words_of(p))]
    assert not hosts.folder.exists()
    nothing = hosts.run("lab", "status")
    assert (nothing.returncode, "no lab is up" in nothing.stderr) == (3, True)


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_two_of_each_on_four_hosts(hosts: Stack) -> None:
    """The greeting checks split, bytes and transport."""
    spec = str(ROOT / "examples" / "local-2p2d" / "spec.yaml")
    result = hosts.run("lab", "up", "--detach", "--json", "--workers", "4", spec)
    assert result.returncode == 0, result.stdout + result.stderr
    checks = {c["name"]: c["verdict"] for c in json.loads(result.stdout)["report"]["checks"]}
    assert checks == dict.fromkeys(["split", "bytes", "transport", "failures"], "pass")
    assert len({r["node"] for r in replicas(hosts)}) == 4
    assert hosts.run("lab", "down").returncode == 0


def test_colocated_replicas_over_hosts_with_a_slow_network(hosts: Stack) -> None:
    spec = str(ROOT / "examples" / "local-colocated-2" / "spec.yaml")
    deployment = start(hosts, "--bandwidth", "100mbit", spec)
    assert [r["node"] for r in replicas(hosts)] == ["10.213.0.11", "10.213.0.12"]
    assert text_of(ask(deployment))
    queue = hosts.run("lab", "exec", "worker-1", "--", "tc", "qdisc", "show", "dev", "eth0")
    assert "tbf" in queue.stdout
    assert "100Mbit" in queue.stdout
    assert hosts.run("lab", "down").returncode == 0


def test_what_does_not_fit_is_refused_before_anything_is_made(hosts: Stack) -> None:
    small = hosts.run("lab", "up", "--workers", "1")
    assert (small.returncode, "2 pools" in small.stderr) == (2, True), small.stderr
    subprocess.run(["ip", "netns", "add", "rayspan-lab-stale"], check=True)
    taken = hosts.run("lab", "up", "--subnet", "127.0.0.0/24")
    assert (taken.returncode, "is in use here" in taken.stderr) == (3, True), taken.stderr
    assert network.leftovers("rayspan-lab") == [], "what a killed lab left is removed"


def test_plain_processes_stand_in_where_namespaces_are_not_wanted(hosts: Stack) -> None:
    deployment = start(hosts, "--isolation", "none")
    assert [node.address for node in deployment.nodes] == ["127.0.0.10", "127.0.0.11", "127.0.0.12"]
    assert text_of(ask(deployment))
    cut = hosts.run("lab", "cut", "worker-1", "worker-2")
    assert (cut.returncode, "there is no link to cut" in cut.stderr) == (3, True)
    assert hosts.run("down").returncode == 0
