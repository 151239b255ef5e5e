"""One socket, one process with modules imported, and a fork of it for each request.

A fork is sound here for the reason CPython's own forkserver may preload modules: the server has
one thread, has opened no device and runs nothing but this loop. `foreign_threads` checks the
first; with such a thread present, or with another environment than the modules were imported
under, the request is refused, which makes the caller run a real interpreter.
"""

import contextlib
import os
import select
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

from rayspan.local.preload import wire
from rayspan.local.preload.child import EXECS_AT_ONCE, Forked, Request, parse
from rayspan.local.preload.tree import reap_orphans

# Read when a library is loaded, so a process that wants another value cannot be forked from here.
_READ_AT_IMPORT = (
    "OMP_", "GOMP_", "KMP_", "MKL_", "TORCH_", "TORCHDYNAMO_",
    "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH",
    "RAY_JOB_ID", "RAY_RAYLET_PID", "RAY_SERVE_", "RAYLLM_",
    "VLLM_LOGGING_", "VLLM_PLUGINS", "VLLM_TARGET_DEVICE",
)  # fmt: skip


def foreign_threads() -> list[str]:
    """Names of threads other than the main one: any of them makes a fork unsafe."""
    threads = [name for name in os.listdir("/proc/self/task") if int(name) != os.getpid()]
    return [Path(f"/proc/self/task/{name}/comm").read_text().strip() for name in threads]


def misfits(wanted: Mapping[str, str], have: Mapping[str, str]) -> list[str]:
    """Variables by which a process that wants one environment cannot be forked under the other."""
    names = {name for name in (*wanted, *have) if name.startswith(_READ_AT_IMPORT)}
    found = [name for name in sorted(names) if wanted.get(name) != have.get(name)]
    loaded = have.get("LD_PRELOAD", "").split(":")
    # Ray puts jemalloc under its own processes: another allocator, the same behaviour.
    missing = [
        library
        for library in filter(None, wanted.get("LD_PRELOAD", "").split(":"))
        if library not in loaded and not Path(library).name.startswith("libjemalloc")
    ]
    return [*found, "LD_PRELOAD"] if missing else found


class PreloadServer:
    """Serves `listener` until its owner ends; its forks end with their callers, or with it."""

    def __init__(
        self, listener: socket.socket, stand_in: str, have: Mapping[str, str], owner: int
    ) -> None:
        self._listener, self._stand_in, self._have = listener, stand_in, have
        self._owner = os.pidfd_open(owner)
        self._callers: dict[int, socket.socket] = {}  # pidfd of a fork -> its stand-in
        self._pids: dict[int, int] = {}  # pidfd of a fork -> pid
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)
        self._poll.register(self._owner, select.POLLIN)

    def serve(self) -> Forked | None:
        """In a fork: what it is to run. In the server, once its owner is gone: None."""
        while True:
            for fd, _event in self._poll.poll():
                if fd == self._owner:
                    return None
                if fd == self._listener.fileno():
                    if forked := self._accept():
                        return forked
                elif fd in self._pids:
                    self._reap(fd)
                else:
                    self._abandon(fd)
            reap_orphans(kept=set(self._pids.values()))

    def _accept(self) -> Forked | None:
        caller, _address = self._listener.accept()
        fds: list[int] = []
        try:
            request, fds = wire.receive_request(caller)
            runnable = parse(request["argv"])
            if runnable is None or self._reasons_against(request, runnable.script):
                caller.sendall(wire.STATUS.pack(wire.REFUSED))
                caller.close()
            elif (pid := os.fork()) == 0:
                self._let_go(caller)
                return Forked(runnable, request, fds, self._stand_in)
            else:
                self._watch(pid, caller)
        except (OSError, ValueError):
            caller.close()
        for fd in fds:
            os.close(fd)
        return None

    def _reasons_against(self, request: Request, script: str | None) -> list[str]:
        reasons = foreign_threads()
        if not (script or "").endswith(EXECS_AT_ONCE):
            reasons += misfits(request["env"], self._have)
        if reasons:
            print("not forked:", request["argv"][:2], "because of", reasons, flush=True)
        return reasons

    def _watch(self, pid: int, caller: socket.socket) -> None:
        pidfd = os.pidfd_open(pid)
        self._callers[pidfd], self._pids[pidfd] = caller, pid
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(caller, select.POLLHUP)
        caller.sendall(wire.STATUS.pack(pid))

    def _reap(self, pidfd: int) -> None:
        _pid, status = os.waitpid(self._pids.pop(pidfd), 0)
        caller = self._callers.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        with contextlib.suppress(KeyError):
            self._poll.unregister(caller)
        with contextlib.suppress(OSError):
            caller.sendall(wire.STATUS.pack(os.waitstatus_to_exitcode(status)))
        caller.close()

    def _abandon(self, caller_fd: int) -> None:
        """A stand-in was killed or lost its parent: its fork must not live on."""
        self._poll.unregister(caller_fd)
        for pidfd, caller in self._callers.items():
            if caller.fileno() == caller_fd:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def _let_go(self, caller: socket.socket) -> None:
        """In a fork: closes the server's sockets, whose numbers are about to be reused."""
        for sock in (self._listener, caller, *self._callers.values()):
            sock.close()
