"""Stands where a Python interpreter is expected, and has the preload server fork it instead.

Ray starts workers through `py_executable`, and multiprocessing starts children through its
configured executable. Both are pointed at this file. It sends its arguments, environment,
directory and open files to the server, then lives exactly as long as the forked process: it hands
on its exit status, forwards signals, and leaves when its own parent dies, which makes the server
end the forked process: an engine cannot outlive its replica. What the server refuses is run by the
real interpreter.
"""

import os
import select
import signal
import socket
import sys
from typing import NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire  # found beside this file: -I leaves no other path

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def main(python: str, socket_path: str, arguments: list[str]) -> NoReturn:
    parent = os.pidfd_open(os.getppid())
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    child = _fork_through(server, socket_path, arguments, hidden={parent, server.fileno()})
    if child is None:
        server.close()
        os.close(parent)
        os.execv(python, [python, *arguments])  # noqa: S606  (what the caller asked for)
    _live_with(child, server, parent)


def _fork_through(
    server: socket.socket, socket_path: str, arguments: list[str], hidden: set[int]
) -> int | None:
    fds = [fd for fd in _open_fds() if fd not in hidden]
    request = {"argv": arguments, "env": dict(os.environ), "cwd": os.getcwd(), "fds": fds}
    if len(fds) > wire.MAX_FDS:
        return None
    try:
        server.connect(socket_path)
        wire.send_request(server, request, fds)
        child = wire.receive_status(server)
    except OSError:
        return None
    return None if child == wire.REFUSED else child


def _open_fds() -> list[int]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue  # the descriptor that listed the folder
        found.append(int(name))
    return sorted(found)


def _live_with(child: int, server: socket.socket, parent: int) -> NoReturn:
    for number in _FORWARDED:
        signal.signal(number, lambda number, _frame: os.kill(child, number))
    for fd in _open_fds():
        if fd > 2 and fd not in (server.fileno(), parent):
            os.close(fd)  # a pipe end held here would hide that the child closed its own
    watch = select.poll()
    watch.register(server, select.POLLIN)
    watch.register(parent, select.POLLIN)
    ready = {fd for fd, _event in watch.poll()}
    if server.fileno() in ready:
        _exit_as(wire.receive_status(server))
    os._exit(1)


def _exit_as(status: int | None) -> NoReturn:
    if status is not None and status >= 0:
        os._exit(status)
    number = -status if status is not None else signal.SIGKILL
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
