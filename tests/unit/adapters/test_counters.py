"""Counter files of a node that is a folder."""

import os
from pathlib import Path

import pytest

from rayspan.adapters.counters import EfaDevices, NetworkInterface, NodeFiles, Traffic
from rayspan.errors import WorldError

DEV = """Inter-|   Receive                          |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
    lo:     100       1    0    0    0     0          0         0      100       1    0
  eth0:12345678901    2    0    0    0     0          0         0      777       4    0
"""


@pytest.fixture
def node(tmp_path: Path) -> NodeFiles:
    process = tmp_path / "proc" / "7"
    (process / "net").mkdir(parents=True)
    (process / "net" / "dev").write_text(DEV)
    for device, read, answered in (("rdmap0s1", 10, 3), ("rdmap0s2", 20, 4)):
        folder = process / "root/sys/class/infiniband" / device / "ports/1/hw_counters"
        folder.mkdir(parents=True)
        (folder / "rdma_read_bytes").write_text(f"{read}\n")
        (folder / "rdma_read_resp_bytes").write_text(f"{answered}\n")
    return NodeFiles(7, tmp_path)


def test_an_interface_by_its_name(node: NodeFiles) -> None:
    files = node.read()
    assert NetworkInterface("eth0").traffic(files) == Traffic(12345678901, 777)
    assert NetworkInterface("lo").traffic(files) == Traffic(100, 100)


def test_all_efa_devices_together(node: NodeFiles) -> None:
    assert EfaDevices().traffic(node.read()) == Traffic(30, 7)


def test_what_is_not_there_is_said(node: NodeFiles, tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="no network interface eth1"):
        NetworkInterface("eth1").traffic(node.read())
    with pytest.raises(WorldError, match="no rdma_read_bytes counter"):
        EfaDevices().traffic({"net/dev": DEV})
    with pytest.raises(WorldError, match="no network counters of process 8"):
        NodeFiles(8, tmp_path).read()


def test_devices_that_may_not_be_looked_at_are_left_out(
    node: NodeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("another user's")

    monkeypatch.setattr(Path, "glob", refuse)
    assert list(node.read()) == ["net/dev"]


def test_this_machine_has_a_loopback_interface() -> None:
    traffic = NetworkInterface("lo").traffic(NodeFiles(os.getpid()).read())
    assert traffic.received == traffic.sent
