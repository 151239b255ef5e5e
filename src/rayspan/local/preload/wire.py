"""The message between a stand-in interpreter and the preload server.

Imported by a bare `python -IS` process, so it may use the standard library's cheapest modules
only. One request per connection: a JSON header with its length in front, its file descriptors
riding on the first byte; the answer is the exit status of the forked process, as one signed 32-bit
integer.
"""

import array
import json
import socket
import struct
from typing import Any

MAX_FDS = 250  # the kernel's SCM_MAX_FD is 253
_LENGTH = struct.Struct("!I")
STATUS = struct.Struct("!i")
REFUSED = -(2**31)  # the server will not fork for this request: run a real interpreter instead


def send_request(sock: socket.socket, request: dict[str, Any], fds: list[int]) -> None:
    body = json.dumps(request).encode()
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds).tobytes())
    sock.sendmsg([_LENGTH.pack(len(body))], [rights] if fds else [])
    sock.sendall(body)


def receive_request(sock: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Raises ConnectionError when the peer leaves before its request is whole."""
    fds = array.array("i")
    head, ancillary, _flags, _address = sock.recvmsg(
        _LENGTH.size, socket.CMSG_SPACE(MAX_FDS * fds.itemsize)
    )
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    body = _receive_exactly(sock, _LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
    if not body:
        raise ConnectionError("the request ended early")
    return json.loads(body), list(fds)


def receive_status(sock: socket.socket) -> int | None:
    """The exit status as `os.waitstatus_to_exitcode` gives it; None when the server is gone."""
    data = _receive_exactly(sock, STATUS.size)
    return STATUS.unpack(data)[0] if data else None


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    chunks = bytearray()
    while len(chunks) < size:
        chunk = sock.recv(size - len(chunks))
        if not chunk:
            return b""
        chunks += chunk
    return bytes(chunks)
