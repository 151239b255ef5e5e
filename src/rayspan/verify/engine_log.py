"""What engine processes said in Ray's log folders: which KV transport each opened, and the rest."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayspan.adapters.metrics import ROLES

_REPLICA = re.compile(r"default_(Prefill|Decode|LLMServer):\S+ (\w+)")
_WORKER = re.compile(r"^\(Worker\S* pid=(\d+)\)", re.MULTILINE)
_ENGINE = re.compile(r"Initializing NIXL (Scheduler|worker) (\S+)")
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


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """All that a replica and its engine said, and the part that was new."""

    role: str
    replica: str
    text: str
    fresh: str

    @property
    def has_workers(self) -> bool:
        """Whether it is the log of an engine's processes, and not of a replica without them."""
        return bool(_WORKER.search(self.text))

    def processes_saying(self, words: str) -> frozenset[int]:
        lines = (line for line in self.text.splitlines() if words in line)
        return frozenset(int(found.group(1)) for found in map(_WORKER.match, lines) if found)


def log_sizes(log_folders: Sequence[Path]) -> dict[Path, int]:
    """How long each log is by now, in bytes."""
    return {path: path.stat().st_size for path in _logs(log_folders, "worker-*")}


def read_replica_logs(
    log_folders: Sequence[Path], since: Mapping[Path, int]
) -> tuple[ReplicaLog, ...]:
    """The logs of engines' replicas; what was there when `since` was taken is not fresh."""
    return tuple(
        ReplicaLog(ROLES[named.group(1)], named.group(2), log.text, log.fresh)
        for log in _read_logs(log_folders, since)
        if (named := _REPLICA.search(log.text))
    )


@dataclass(frozen=True, slots=True)
class _Log:
    text: str
    fresh: str

    def engines(self, kind: str) -> set[str]:
        """Ids of the NIXL engines of which this log holds a `Scheduler` or a `worker`."""
        return {engine for said, engine in _ENGINE.findall(self.text) if said == kind}


def _read_logs(log_folders: Sequence[Path], since: Mapping[Path, int]) -> list[_Log]:
    """One log a replica, its workers' included; what belongs to no replica stays apart.

    On CPU a replica's workers write to its log. On GPUs they are actors of Ray with logs of their
    own, maybe on other nodes; what both name is the engine that NIXL serves.
    """
    logs = [_read_log(out, since) for out in _logs(log_folders, "worker-*.out")]
    workers = [log for log in logs if log.engines("worker") and not log.engines("Scheduler")]
    others = [log for log in logs if log not in workers]
    joined = [_join(log, [w for w in workers if _belongs(w, log)]) for log in others]
    return joined + [w for w in workers if not any(_belongs(w, log) for log in others)]


def _belongs(worker: _Log, replica: _Log) -> bool:
    return bool(worker.engines("worker") & replica.engines("Scheduler"))


def _join(replica: _Log, workers: Sequence[_Log]) -> _Log:
    logs = (replica, *workers)
    return _Log("\n".join(log.text for log in logs), "\n".join(log.fresh for log in logs))


def _read_log(out: Path, since: Mapping[Path, int]) -> _Log:
    fresh = "".join(_from(path, since) for path in (out, out.with_suffix(".err")))
    return _Log(_whole(out), fresh)


def _logs(log_folders: Sequence[Path], pattern: str) -> Iterator[Path]:
    return (path for folder in log_folders for path in sorted(folder.glob(pattern)))


def _from(path: Path, since: Mapping[Path, int]) -> str:
    if not path.exists():
        return ""
    return path.read_bytes()[since.get(path, 0) :].decode(errors="replace")


def read_engine_transports(log_folders: Sequence[Path]) -> tuple[EngineTransport, ...]:
    """Every worker process that opened NIXL, by role and replica."""
    logs = _read_logs(log_folders, {})
    found = (engine for log in logs for engine in parse_engine_log(log.text))
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
