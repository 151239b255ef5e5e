"""The wire check on counters as recorded, on ones of several hosts, and on made-up ones of EFA."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rayspan.verify.target import Target
from rayspan.verify.verdict import Verdict
from rayspan.verify.wire import check_wire, record_wire
from rayspan.verify.wire_window import Host, Reading, WireWindow, hosts_of, measure
from tests.unit.verify.recorded import (
    ROSTER,
    SOUND,
    Deployment,
    Node,
    colocated_target,
    efa_target,
    observed,
    recorded_window,
    spec_of,
    split_target,
)

KV = 32_440_320
TWO = (Host("worker-1", "eth0", ("prefill",)), Host("worker-2", "eth0", ("decode",)))
EFA = efa_target()


def dev(received: float, sent: float) -> Mapping[str, str]:
    return {"net/dev": f"  eth0: {received:.0f} 0 0 0 0 0 0 0 {sent:.0f} 0 0 0 0 0 0 0\n"}


def window(received: float, sent: float, idle_rate: float = 0.0) -> WireWindow:
    """Two hosts: 2 s of quiet, then 4 s in which so much crossed beside the idle traffic."""
    moments = []
    for at, read, answered in ((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (6.0, received, sent)):
        noise = at * idle_rate
        files = {"worker-1": dev(noise, answered + noise), "worker-2": dev(read + noise, noise)}
        moments.append(Reading(at, files))
    return WireWindow(TWO, *moments)


@pytest.mark.parametrize(
    ("received", "sent", "verdict"),
    [
        (1.0, 1.0, Verdict.PASS),
        (0.9, 3.0, Verdict.PASS),
        (0.89, 1.0, Verdict.FAIL),
        (1.0, 0.89, Verdict.FAIL),
        (3.01, 1.0, Verdict.FAIL),
        (0.0, 0.0, Verdict.FAIL),
    ],
)
def test_what_must_cross_between_hosts(received: float, sent: float, verdict: Verdict) -> None:
    seen = observed(SOUND, wire=window(received * KV, sent * KV))
    assert check_wire(split_target(), seen).verdict is verdict


def test_what_does_not_hold_is_named() -> None:
    check = check_wire(split_target(), observed(SOUND, wire=window(1181, KV)))
    assert check.summary == (
        "bytes received by decode (worker-2 eth0): 1181, expected 29196288 to 97320960"
    )


def test_idle_traffic_is_taken_off() -> None:
    quiet = observed(SOUND, wire=window(0.0, 0.0, idle_rate=KV / 50))
    assert check_wire(split_target(), quiet).verdict is Verdict.FAIL
    loud = observed(SOUND, wire=window(KV, KV, idle_rate=KV / 4))
    check = check_wire(split_target(), loud)
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "hide 32440320 bytes of KV" in check.summary


def test_tcp_within_one_host_as_recorded() -> None:
    seen = observed(SOUND, wire=recorded_window("wire-loopback-tcp"))
    check = check_wire(split_target("tcp"), seen)
    assert check.verdict is Verdict.PASS
    assert "head lo" in check.summary


def test_shared_memory_where_tcp_was_asked_for_as_recorded() -> None:
    seen = observed(SOUND, wire=recorded_window("wire-loopback-ucx"))
    assert check_wire(split_target("tcp"), seen).verdict is Verdict.FAIL


def test_shared_memory_is_on_no_wire() -> None:
    check = check_wire(split_target(), observed(SOUND, wire=recorded_window("wire-loopback-ucx")))
    assert (check.verdict, check.summary) == (Verdict.SKIP, "P and D share a host")


def test_efa_is_not_yet_told() -> None:
    """Sound on made-up files; whether the names mean this has not been seen on hardware."""
    check = check_wire(EFA, observed(SOUND, wire=recorded_window("efa-synthetic")))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.summary == "counter mapping not yet validated on hardware"
    assert [e.holds for e in check.evidence] == [True] * 4
    assert [e.observed for e in check.evidence[::2]] == [KV, KV]


def test_kv_beside_efa_does_not_hold() -> None:
    over_ethernet = recorded_window("efa-synthetic")
    after = json.loads(
        json.dumps(over_ethernet.after.files).replace("eth0: 57000", "eth0: 9057000")
    )
    moved = replace(over_ethernet, after=replace(over_ethernet.after, files=after))
    check = check_wire(EFA, observed(SOUND, wire=moved))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert [e.where for e in check.evidence if not e.holds] == [
        "bytes received by decode beside EFA"
    ]


def test_a_node_without_efa_is_not_told() -> None:
    check = check_wire(EFA, observed(SOUND, wire=window(KV, KV)))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "no rdma_read_bytes counter" in check.summary


@pytest.mark.parametrize(
    ("hosts", "says"),
    [
        ((TWO[0], Host("worker-3", "eth0", ("prefill",))), "which nodes hold"),
        ((), "which nodes hold"),
        ((*TWO, Host("w", "eth0", ("decode", "prefill"))), "w holds both prefill and decode"),
    ],
)
def test_odd_placements_are_inconclusive(hosts: tuple[Host, ...], says: str) -> None:
    check = check_wire(split_target(), observed(SOUND, wire=replace(window(KV, KV), hosts=hosts)))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert says in check.summary


def test_no_counters_no_traffic_no_shape_are_inconclusive() -> None:
    unread = check_wire(split_target(), observed(SOUND, wire="process 7 is gone"))
    assert (unread.verdict, unread.summary) == (
        Verdict.INCONCLUSIVE,
        "no counters were read: process 7 is gone",
    )
    silent = observed({}, given=(), wire=window(KV, KV))
    assert check_wire(split_target(), silent).verdict is Verdict.INCONCLUSIVE
    unknown = Target(spec_of(), None, "odd")
    assert check_wire(unknown, observed(SOUND, wire=window(KV, KV))).verdict is Verdict.INCONCLUSIVE


def test_colocated_engines_are_skipped() -> None:
    assert check_wire(colocated_target(), observed({})).verdict is Verdict.SKIP


def test_a_recording_is_what_was_read(tmp_path: Path) -> None:
    seen = observed(SOUND, wire=recorded_window("wire-loopback-tcp"))
    record_wire(split_target("tcp"), seen, tmp_path / "new")
    written = json.loads((tmp_path / "new" / "counters.json").read_text())
    kept = json.loads(
        (Path(__file__).parents[2] / "data/wire-loopback-tcp/counters.json").read_text()
    )
    assert written == kept
    assert written["facts"]["expected_bytes"] == KV


def test_hosts_are_nodes_with_engines() -> None:
    nodes = (
        Node(),
        Node("worker-1", "10.0.0.2", 5, "eth0"),
        Node("worker-2", "10.0.0.3", 6, "eth0"),
    )
    assert hosts_of(nodes, ROSTER) == TWO


def test_counters_are_read_around_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("rayspan.verify.wire_window.time.sleep", slept.append)
    done, found = measure(Deployment(spec_of()), ROSTER, lambda: "done")
    assert (done, len(slept)) == ("done", 1)
    assert isinstance(found, WireWindow)
    gone = Deployment(spec_of(), nodes=(Node(root_pid=2**30),))
    done, found = measure(gone, ROSTER, lambda: "done")
    assert done == "done"
    assert "no network counters of process" in str(found)
