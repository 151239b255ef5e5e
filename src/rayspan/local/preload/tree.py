"""The process tree below this process, and its end."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NAME = 15
# multiprocessing's trackers end by themselves once nobody holds their pipe, and remove the shared
# memory that killed processes left in /dev/shm.
TRACKER = "py-shm-tracker"


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def name_this_process(name: str) -> None:
    """Sets what /proc/<pid>/comm says: 15 characters at most."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def descendants(root: int) -> Iterator[int]:
    """Process ids below `root`, parents before children."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{root}/task"):
            children = Path(f"/proc/{root}/task/{thread}/children").read_text()
            for pid in map(int, children.split()):
                yield pid
                yield from descendants(pid)


def end_descendants(patience_s: float = 10.0) -> None:
    """Kills all below this process, again until none is left: a dying process may still be forking.

    Direct children go first: a preload server left alive would end the trackers with their callers.
    """
    start = time.monotonic()
    while pids := list(descendants(os.getpid())):
        waited = time.monotonic() - start
        for pid in pids:
            if waited > patience_s / 2 or _comm(pid) != TRACKER:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if waited > patience_s:
            return
        time.sleep(0.02)
        reap_orphans(kept=set())


def reap_orphans(kept: set[int]) -> None:
    """Collects dead children, but for those in `kept`, whose status somebody else waits for."""
    for pid in _dead_children():
        if pid not in kept:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _dead_children() -> list[int]:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in children.split() if _state(pid) == "Z"]


def _comm(pid: int) -> str:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _state(pid: str) -> str:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""
