"""The network's edge, with the kernel's answers standing in where nothing may be changed."""

from pathlib import Path

import pytest

from rayspan.adapters import iproute
from rayspan.errors import WorldError
from rayspan.lab import down, network
from rayspan.lab.layout import LabOptions, lay_out
from rayspan.lab.state import Lab, read_lab, write_lab
from rayspan.spec import builtin_spec


def test_only_root_makes_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(WorldError, match="which only root may make") as caught:
        network.why_refused()
    assert "--isolation none" in str(caught.value.fix)


@pytest.mark.parametrize("tool", ["ip", "tc", "unshare"])
def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == tool else "/x")
    with pytest.raises(WorldError, match=f"`{tool}` is not installed"):
        iproute.check_installed()


def test_refused_namespaces_are_a_reason_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: str) -> str:
        raise WorldError("`ip netns add` failed: Operation not permitted")

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(iproute, "check_installed", lambda: None)
    monkeypatch.setattr(iproute, "ip", refuse)
    assert "Operation not permitted" in network.why_refused()


def test_an_address_range_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = [{"dst": "default", "dev": "eth0"}, {"dst": "10.213.0.0/16", "dev": "vpn0"}]
    monkeypatch.setattr(iproute, "ip_json", lambda *_: routes)
    with pytest.raises(WorldError, match=r"is in use here: 10\.213\.0\.0/16 on vpn0"):
        network.check_free("10.213.0.0/24")
    network.check_free("10.9.0.0/24")


def test_a_queue_the_kernel_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: str) -> str:
        raise WorldError("`tc ...` failed: Specified qdisc kind is unknown.")

    monkeypatch.setattr(iproute, "tc", refuse)
    host = lay_out(builtin_spec(), LabOptions()).head
    with pytest.raises(WorldError, match="cannot limit latency or loss") as caught:
        network.shape(host, LabOptions(latency_ms=5))
    assert "sch_netem" in str(caught.value.fix)
    network.shape(host, LabOptions())


def test_a_live_lab_is_not_removed_as_a_leftover(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[str] = []
    monkeypatch.setattr(network, "leftovers", lambda label: [f"{label}-head", label])
    monkeypatch.setattr(network, "remove", removed.append)
    monkeypatch.setattr(network, "members", lambda _name: [42])
    with pytest.raises(WorldError, match="another lab is up on this machine: l-head holds"):
        down.remove_leftovers("l")
    monkeypatch.setattr(network, "members", lambda _name: [])
    down.remove_leftovers("l")
    assert removed == ["l"]


def test_a_lab_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_lab(tmp_path) is None
    lab = Lab(LabOptions(workers=3, bandwidth="1gbit"), builtin_spec(), {"head": 7})
    write_lab(tmp_path, lab)
    assert read_lab(tmp_path) == lab
    (tmp_path / "lab.json").write_text("{}")
    assert read_lab(tmp_path) is None
