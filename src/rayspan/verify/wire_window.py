"""Reads the counters of every node around the probes, and before them while all is quiet."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar

from rayspan.adapters.counters import ByteCounters, Files, NodeFiles
from rayspan.errors import WorldError
from rayspan.verify.roster import Roster
from rayspan.verify.target import Deployed, DeployedNode

RECORDING = "counters.json"
_QUIET_S = 1.5
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Host:
    """A node and the pools that have replicas on it."""

    name: str
    interface: str
    roles: tuple[str, ...]


Device = tuple[Host, ByteCounters]
Way = Literal["received", "sent"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Texts of the counter files of each node, by the node's name. `at_s` is of any clock."""

    at_s: float
    files: Mapping[str, Files]


@dataclass(frozen=True, slots=True)
class WireWindow:
    """Quiet from `idle` to `before`, the probes from `before` to `after`."""

    hosts: tuple[Host, ...]
    idle: Reading
    before: Reading
    after: Reading

    def crossed(self, devices: Sequence[Device], way: Way) -> float:
        """Bytes of the probes: the quiet interval's rate is taken off."""
        grown = _between(self.before, self.after, devices, way)
        return grown - self.idle_share(devices, way)

    def idle_share(self, devices: Sequence[Device], way: Way) -> float:
        """Bytes that would have crossed without the probes, by the quiet interval's rate."""
        quiet_s = self.before.at_s - self.idle.at_s
        share = (self.after.at_s - self.before.at_s) / quiet_s if quiet_s else 0.0
        return _between(self.idle, self.before, devices, way) * share


def _between(first: Reading, last: Reading, devices: Sequence[Device], way: Way) -> float:
    def count(moment: Reading, host: Host, counters: ByteCounters) -> float:
        traffic = counters.traffic(moment.files[host.name])
        return traffic.received if way == "received" else traffic.sent

    return sum(count(last, *device) - count(first, *device) for device in devices)


def hosts_of(nodes: Sequence[DeployedNode], roster: Roster) -> tuple[Host, ...]:
    """Nodes that hold engines."""
    found = [
        Host(
            node.name,
            node.interface,
            tuple(sorted({m.role for m in roster.members if m.node == node.name})),
        )
        for node in nodes
    ]
    return tuple(host for host in found if host.roles)


def measure(
    deployed: Deployed, roster: Roster, work: Callable[[], _T]
) -> tuple[_T, WireWindow | str]:
    """Does the work between two readings; instead of a window, why there is none."""
    try:
        idle = _read(deployed.nodes)
        time.sleep(_QUIET_S)
        before = _read(deployed.nodes)
    except WorldError as error:
        return work(), error.message
    done = work()
    try:
        after = _read(deployed.nodes)
    except WorldError as error:
        return done, error.message
    return done, WireWindow(hosts_of(deployed.nodes, roster), idle, before, after)


def _read(nodes: Sequence[DeployedNode]) -> Reading:
    files = {node.name: NodeFiles(node.root_pid).read() for node in nodes}
    return Reading(time.monotonic(), files)


def record(window: WireWindow, facts: Mapping[str, object], folder: Path) -> None:
    """Writes `counters.json`: every file as it was read, and all else a judgement needs."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = asdict(window) | {"facts": facts}
    (folder / RECORDING).write_text(json.dumps(whole, indent=1))
