"""Unit tests reach nothing outside, and this machine by TCP only where they have a reason.

The reason is to test an adapter, or the mark `loopback`.
"""

from pathlib import Path

import pytest
from pytest_socket import disable_socket, enable_socket, socket_allow_hosts

_ADAPTERS = Path(__file__).parent / "adapters"


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Unix sockets stay: event loops and process pools are built on them."""
    if item.get_closest_marker("loopback") or _ADAPTERS in item.path.parents:
        enable_socket()
        socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)
    else:
        disable_socket(allow_unix_socket=True)
