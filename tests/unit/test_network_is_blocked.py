"""The block that `conftest.py` lays over the unit tests holds."""

import socket

import pytest
from pytest_socket import SocketBlockedError, SocketConnectBlockedError


def test_a_unit_test_has_no_tcp() -> None:
    with pytest.raises(SocketBlockedError):
        socket.create_connection(("127.0.0.1", 9), timeout=1)


@pytest.mark.loopback
def test_a_loopback_test_has_this_machine_only() -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 1), timeout=1)
    with pytest.raises(SocketConnectBlockedError):
        socket.create_connection(("192.0.2.1", 80), timeout=1)


def test_unix_sockets_stay() -> None:
    for end in socket.socketpair():
        end.close()
