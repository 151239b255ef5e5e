"""Which KV transport each engine process opened, read from its own words in Ray's log folder."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayspan.adapters.metrics import ROLES

_REPLICA = re.compile(r"default_(Prefill|Decode|LLMServer):\S+ (\w+)")
_BACKEND = re.compile(r"\(Worker\S* pid=(\d+)\).*Backend (\w+) was instantiated")
_UCX = r"^\[[\d.]+\] \[[^\]:]+:(\d+) *:\d+\].*UCX +INFO +"
_UCX_LANES = re.compile(_UCX + r"\S+ (?:self|intra-node|inter-node) cfg#\d+ (.*)$", re.MULTILINE)
_LANE = re.compile(r"(\w+)/\w+")


@dataclass(frozen=True, slots=True)
class EngineTransport:
    """One worker process: what NIXL opened, and the UCX transports of its connections.

    `lanes` is empty when UCX was not told to log (UCX_LOG_LEVEL=info).
    """

    role: str
    replica: str
    pid: int
    backends: tuple[str, ...]
    lanes: tuple[str, ...]


def read_engine_transports(log_folders: Sequence[Path]) -> tuple[EngineTransport, ...]:
    """Every worker process that opened NIXL, by role and replica."""
    paths = (path for folder in log_folders for path in sorted(folder.glob("worker-*.out")))
    logs = map(_whole, paths)
    found = (engine for text in logs for engine in parse_engine_log(text))
    return tuple(sorted(found, key=lambda engine: (engine.role, engine.replica, engine.pid)))


def parse_engine_log(text: str) -> Iterator[EngineTransport]:
    """The worker processes in one replica's log; none when it is no replica's."""
    named = _REPLICA.search(text)
    backends: dict[int, list[str]] = {}
    lanes: dict[int, set[str]] = {}
    for pid, backend in _BACKEND.findall(text):
        backends.setdefault(int(pid), []).append(backend)
    for pid, listed in _UCX_LANES.findall(text):
        lanes.setdefault(int(pid), set()).update(_LANE.findall(listed))
    for pid, opened in backends.items():
        yield EngineTransport(
            role=ROLES[named.group(1)] if named else "unknown",
            replica=named.group(2) if named else "unknown",
            pid=pid,
            backends=tuple(opened),
            lanes=tuple(sorted(lanes.get(pid, ()))),
        )


def _whole(out: Path) -> str:
    err = out.with_suffix(".err")
    errors = err.read_text(errors="replace") if err.exists() else ""
    return out.read_text(errors="replace") + "\n" + errors
