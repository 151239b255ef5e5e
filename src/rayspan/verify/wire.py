"""Did the KV cache cross the wire between the hosts that hold prefill and decode?

NIXL's own counters do not know the wire: they grow alike over shared memory, TCP and EFA. Those of
a network device do not know KV. So both are read over the same probes, and held against each other.
"""

from pathlib import Path

from rayspan.adapters.counters import EfaDevices, NetworkInterface
from rayspan.errors import InputError, RayspanError, WorldError
from rayspan.plan.kv_bytes import Request, expect_kv_bytes
from rayspan.verify.observation import Observation
from rayspan.verify.split import COLOCATED, unusable
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, inconclusive, judge, skip
from rayspan.verify.wire_window import Device, Host, Way, WireWindow, record

NAME = "wire"
LEAST, MOST = 0.9, 3.0
BESIDE = 0.1  # share of the KV that the ordinary interface, and idle traffic, may have
UNVALIDATED = "counter mapping not yet validated on hardware"
SAME_HOST = "P and D share a host"
_LOOPBACK = "lo"


def check_wire(target: Target, seen: Observation) -> Check:
    """TCP within one host is seen on its loopback interface; shared memory is on no wire."""
    if not target.split:
        return skip(NAME, COLOCATED)
    window = seen.wire
    if not isinstance(window, WireWindow):
        return inconclusive(NAME, f"no counters were read: {window}")
    within = _within_one_host(window)
    if within and target.transport != "tcp":
        return skip(NAME, SAME_HOST)
    if reason := _misplaced(window, within) or unusable(seen):
        return inconclusive(NAME, reason)
    try:
        return _judge(target, window, within, expected_bytes(target, seen))
    except RayspanError as error:
        return inconclusive(NAME, error.message)


def expected_bytes(target: Target, seen: Observation) -> int:
    """Raises InputError when the model's shape is unknown."""
    requests = [Request(len(answer.probe.prompt)) for answer in seen.answered]
    return expect_kv_bytes(target.known_shape(), target.cache_settings(), requests).total


def record_wire(target: Target, seen: Observation, folder: Path) -> None:
    """Keeps what the check is judged by. Raises WorldError when nothing was read."""
    if not isinstance(seen.wire, WireWindow):
        raise WorldError(f"there are no counters to record: {seen.wire}")
    expected: int | str
    try:
        expected = expected_bytes(target, seen)
    except InputError as error:
        expected = error.message
    facts = {
        "transport": target.transport,
        "expected_bytes": expected,
        "prompt_tokens": [len(answer.probe.prompt) for answer in seen.answered],
    }
    record(seen.wire, facts, folder)


def _holders(window: WireWindow, role: str) -> tuple[Host, ...]:
    return tuple(host for host in window.hosts if role in host.roles)


def _within_one_host(window: WireWindow) -> bool:
    """Nodes whose addresses are all on the loopback interface are one host, too."""
    return bool(window.hosts) and (
        len(window.hosts) == 1 or all(host.interface == _LOOPBACK for host in window.hosts)
    )


def _misplaced(window: WireWindow, within: bool) -> str:
    """Why the hosts do not tell what must cross between them; empty when they do."""
    prefill, decode = (set(_holders(window, role)) for role in ("prefill", "decode"))
    if not prefill or not decode:
        return "Serve did not say which nodes hold prefill and decode"
    shared = ", ".join(sorted(host.name for host in prefill & decode))
    return f"{shared} holds both prefill and decode" if shared and not within else ""


def _judge(target: Target, window: WireWindow, within: bool, expected: int) -> Check:
    efa = target.transport == "efa"
    evidence, noise = [], 0.0
    ways: tuple[tuple[str, Way], ...] = (("decode", "received"), ("prefill", "sent"))
    for role, way in ways:
        hosts = window.hosts[:1] if within else _holders(window, role)
        named = [_LOOPBACK if within else host.interface for host in hosts]
        ordinary: list[Device] = list(zip(hosts, map(NetworkInterface, named), strict=True))
        devices: list[Device] = [(host, EfaDevices()) for host in hosts] if efa else ordinary
        where = ", ".join(f"{host.name} {counters.name}" for host, counters in devices)
        moved, beside = window.crossed(devices, way), window.crossed(ordinary, way)
        evidence.append(_crossed(f"bytes {way} by {role} ({where})", moved, expected))
        if efa:
            evidence.append(_beside(f"bytes {way} by {role} beside EFA", beside, expected))
        noise = max(noise, window.idle_share(devices, way))
    if noise > BESIDE * expected:
        reason = f"{noise:.0f} bytes of other traffic hide {expected} bytes of KV"
        return inconclusive(NAME, reason, evidence)
    if efa:
        return inconclusive(NAME, UNVALIDATED, evidence)
    return judge(NAME, _summary(expected, evidence), evidence)


def _summary(expected: int, evidence: list[Evidence]) -> str:
    counted = ", ".join(f"{item.observed} {item.where.removeprefix('bytes ')}" for item in evidence)
    return f"of {expected} bytes of KV: {counted}"


def _crossed(where: str, moved: float, expected: int) -> Evidence:
    least, most = LEAST * expected, MOST * expected
    wanted = f"{least:.0f} to {most:.0f}"
    return Evidence(where, round(moved), wanted, holds=least <= moved <= most)


def _beside(where: str, moved: float, expected: int) -> Evidence:
    most = BESIDE * expected
    return Evidence(where, round(moved), f"under {most:.0f}", holds=moved < most)
