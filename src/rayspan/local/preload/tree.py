"""The process tree below this process, and its end."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> Iterator[int]:
    """Process ids below `root`, parents before children."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{root}/task"):
            children = Path(f"/proc/{root}/task/{thread}/children").read_text()
            for pid in map(int, children.split()):
                yield pid
                yield from descendants(pid)


def end_descendants(patience_s: float = 10.0) -> None:
    """Kills all below this process, again until none is left: a dying process may still be forking."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and (pids := list(descendants(os.getpid()))):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
        reap_orphans(set())


def reap_orphans(kept: set[int]) -> None:
    """Collects dead children, but for those in `kept`, whose status somebody else waits for."""
    for pid in _dead_children():
        if pid not in kept:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _dead_children() -> list[int]:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in children.split() if _state(pid) == "Z"]


def _state(pid: str) -> str:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""
