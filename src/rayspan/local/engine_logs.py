"""Reads how far each replica's engine has come, and why one died, out of the logs Ray keeps."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayspan.adapters.metrics import ROLES

STAGES = (
    ("Resolved architecture", "configuring"),
    ("Initializing a V1 LLM engine", "starting engine"),
    ("Starting to load model", "loading weights"),
    ("Warming up model", "warming up"),
    ("Warming up done", "reserving KV cache"),
    ("Initializing NIXL wrapper", "opening KV transport"),
    ("init engine (profile", "starting API"),
    ("Started vLLM engine", "ready"),
)
_DEPLOYMENT = re.compile(r"default_(Prefill|Decode|LLMServer):(\S+) (\S+)")
_ENGINE_LINE = re.compile(r"^\((?:EngineCore|Worker)[^)]*pid=\d+\) (.*)$")
_LAST_ERROR = re.compile(
    r"^(?:[A-Z]+ [\d-]+ [\d:]+ \[[^\]]+\] )?([\w.]*(?:Error|Exception|Exit)\b: .+)$"
)
_DEATH = ("Engine core initialization failed", "EngineCore failed to start", "WorkerProc failed")


@dataclass(frozen=True, slots=True)
class EngineProgress:
    """One replica's engine: `replica` is Serve's id for it, `stage` a word of STAGES."""

    role: str
    replica: str
    stage: str


def read_progress(log_folders: Sequence[Path]) -> list[EngineProgress]:
    """Every replica that has said its name, with the furthest stage its engine logged."""
    return sorted(filter(None, map(_progress_of, _worker_logs(log_folders))), key=lambda p: p.role)


def _progress_of(text: str) -> EngineProgress | None:
    name = _DEPLOYMENT.search(text)
    if name is None:
        return None
    stage = "starting"
    for marker, label in STAGES:
        if marker in text:
            stage = label
    return EngineProgress(ROLES[name.group(1)], name.group(3), stage)


def find_death(log_folders: Sequence[Path]) -> str | None:
    """The first error an engine process printed, when some engine failed to start.

    What Ray reports is the last of a chain of consequences ("Engine core initialization failed");
    the cause is the first exception of the engine's own process.
    """
    for text in _worker_logs(log_folders):
        if any(marker in text for marker in _DEATH):
            return next(_engine_errors(text), None) or next(
                _errors(text.splitlines()), "no error text"
            )
    return None


def _engine_errors(text: str) -> Iterator[str]:
    lines = (match.group(1) for match in map(_ENGINE_LINE.match, text.splitlines()) if match)
    yield from _errors(lines)


def _errors(lines: Iterator[str] | list[str]) -> Iterator[str]:
    for line in lines:
        if match := _LAST_ERROR.match(line.strip()):
            yield match.group(1)


def _worker_logs(log_folders: Sequence[Path]) -> Iterator[str]:
    """Output and errors of each worker process, joined."""
    for out in (log for folder in log_folders for log in sorted(folder.glob("worker-*.out"))):
        err = out.with_suffix(".err")
        yield out.read_text(errors="replace") + (
            err.read_text(errors="replace") if err.exists() else ""
        )
