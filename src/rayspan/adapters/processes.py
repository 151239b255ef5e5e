"""The door to this machine's processes: who runs, which files and ports they hold, how they end."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError, FileNotFoundError)


@dataclass(frozen=True, slots=True)
class Listener:
    """A process that listens on a TCP port."""

    pid: int
    name: str


def start_detached(command: Sequence[str], env: Mapping[str, str], log: Path) -> int:
    """Starts the executable at the path `command[0]` in a session of its own, out of reach of the
    terminal's Ctrl-C; its pid."""
    with log.open("wb") as output, Path(os.devnull).open("rb") as nothing:
        return os.posix_spawn(
            command[0],
            list(command),
            dict(env),
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
            ],
        )


def run_python(arguments: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs this Python with `arguments` to its end, output captured."""
    return subprocess.run(  # noqa: S603  (this interpreter, with rayspan's own arguments)
        [sys.executable, *arguments], input=stdin, capture_output=True, text=True, check=False
    )


def run_attached(command: Sequence[str]) -> int:
    """Runs `command` at this terminal; its exit status."""
    return subprocess.run(command, check=False).returncode  # noqa: S603  (the user's own command)


def children(pid: int) -> list[int]:
    """Direct children, oldest first; none when the process is gone."""
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except _GONE:
        return []


def is_alive(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # when it is our own child: collect it if it is dead
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_end(pid: int) -> None:
    """Blocks until the process is gone; Ctrl-C breaks the wait."""
    with contextlib.suppress(ProcessLookupError):
        select.select([os.pidfd_open(pid)], [], [])


def end(pid: int, patience_s: float) -> bool:
    """SIGTERM, then SIGKILL after `patience_s`. True when it was gone without the second."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if _gone_within(pid, patience_s):
        return True
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _gone_within(pid, 5.0)
    return False


def _gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def holders_of(folder: Path) -> list[int]:
    """Processes other than this one that have a file below `folder` open or name it on their
    command line. Unlike a process tree, this finds those whose parents died, and those that
    changed their title: an engine's output goes to a log there.
    """
    return [p.pid for p in psutil.process_iter() if p.pid != os.getpid() and _holds(p, folder)]


def _holds(process: psutil.Process, folder: Path) -> bool:
    prefix = f"{folder}/"
    try:
        words = process.cmdline()
        if any(word == str(folder) or prefix in word for word in words):
            return words[:1] != ["tail"]
        return any(link.startswith(prefix) for link in _open_files(process.pid))
    except _GONE:
        return False


def _open_files(pid: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            yield str(descriptor.readlink())


def tree(pid: int) -> list[int]:
    """A process and all below it, parents first; none when it is gone."""
    try:
        process = psutil.Process(pid)
        return [pid, *(child.pid for child in process.children(recursive=True))]
    except _GONE:
        return []


def own_pid(pid: int) -> int | None:
    """The pid that a process has for itself and in its own PID namespace; None when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    line = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    return int(line.split()[-1]) if line else None


def kill_tree(pid: int) -> None:
    """Kills a process and all below it."""
    kill_all(tree(pid))


def kill_all(pids: Sequence[int]) -> None:
    _signal_all(pids, signal.SIGKILL)


def _signal_all(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def pause(pids: Sequence[int]) -> None:
    """Stops processes where they are, until `resume`."""
    _signal_all(pids, signal.SIGSTOP)


def resume(pids: Sequence[int]) -> None:
    _signal_all(pids, signal.SIGCONT)


def listener_on(host: str, port: int) -> Listener | None:
    """Who keeps `port` from being bound at `host`; pid 0 when the owner cannot be told."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return _owner_of(port)
    return None


def _owner_of(port: int) -> Listener:
    with contextlib.suppress(psutil.AccessDenied):
        for pid, found in _listeners():
            if found == port:
                with contextlib.suppress(*_GONE):
                    return Listener(pid, psutil.Process(pid).name())
    return Listener(0, "another process")


def _listeners() -> Iterator[tuple[int, int]]:
    """Process id and TCP port of every listener whose process can be told."""
    for connection in psutil.net_connections(kind="tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.pid and connection.laddr:
            yield connection.pid, connection.laddr.port


def listening_ports(pids: Sequence[int]) -> dict[int, list[int]]:
    """TCP ports on which each of `pids` listens."""
    ports: dict[int, list[int]] = {pid: [] for pid in pids}
    for pid, port in _listeners():
        if pid in ports:
            ports[pid].append(port)
    return {pid: sorted(set(found)) for pid, found in ports.items()}


def pss_bytes(pid: int) -> int:
    """Memory of a process with each shared page counted in part; 0 when it is gone."""
    try:
        return int(psutil.Process(pid).memory_full_info().pss)
    except _GONE:
        return 0


def output_file(pid: int) -> str:
    """Where the process's standard output goes: engine processes share their replica's log."""
    try:
        return str(Path(f"/proc/{pid}/fd/1").readlink())
    except OSError:
        return ""


def available_memory_bytes() -> int:
    return int(psutil.virtual_memory().available)


def cpu_has(flag: str) -> bool:
    """Whether the kernel lists a feature of the CPU, by its name in /proc/cpuinfo."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return any(flag in line.split() for line in lines if line.startswith("flags"))


def free_disk_bytes(folder: Path) -> int:
    """Free bytes of the file system that holds `folder` or its nearest existing parent."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return int(psutil.disk_usage(str(existing)).free)
