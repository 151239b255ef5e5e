"""Which hosts a lab has and what each of them holds."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayspan.errors import InputError
from rayspan.lab.layout import LabOptions, lay_out
from rayspan.lab.settings import cluster_of, head_settings, metrics_port, worker_settings
from rayspan.render import render_serve_config
from rayspan.spec import Spec, builtin_spec, parse_spec

SPLIT = """
model: {{id: m, source: org/m}}
serving: {{kind: prefill-decode, prefill: {{replicas: {p}}}, decode: {{replicas: {d}}}}}
"""


def spec(prefill: int, decode: int) -> Spec:
    return parse_spec(SPLIT.format(p=prefill, d=decode), "s")


def test_each_pool_has_hosts_of_its_own() -> None:
    layout = lay_out(builtin_spec(), LabOptions())
    assert [(h.name, h.address, h.roles) for h in layout.hosts] == [
        ("head", "10.213.0.10", {}),
        ("worker-1", "10.213.0.11", {"prefill": 1}),
        ("worker-2", "10.213.0.12", {"decode": 1}),
    ]
    assert (layout.gateway, layout.prefix) == ("10.213.0.1", 24)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(2, 12))
def test_every_replica_has_its_place(prefill: int, decode: int, workers: int) -> None:
    wanted = spec(prefill, decode)
    layout = lay_out(wanted, LabOptions(workers=workers))
    assert len(layout.hosts) == workers + 1
    for role, pool in wanted.pools().items():
        held = [host.roles[role] for host in layout.hosts if role in host.roles]
        assert sum(held) == pool.replicas
        assert max(held) - min(held) <= 1
    assert all(len(host.roles) == 1 for host in layout.hosts[1:])


def test_what_replicas_ask_for_is_what_hosts_offer() -> None:
    wanted, options = spec(2, 3), LabOptions(workers=4)
    layout = lay_out(wanted, options)
    offered: dict[str, float] = {}
    for host in layout.hosts:
        for name, units in host.resources.items():
            offered[name] = offered.get(name, 0) + units
    config = render_serve_config(wanted, "/m", cluster_of(layout, options)).to_dict()
    args = config["applications"][0]["args"]
    asked = {
        name: bundle[name] * args[pool]["deployment_config"]["num_replicas"]
        for pool in ("prefill_config", "decode_config")
        for bundle in args[pool]["placement_group_config"]["bundles"]
        for name in bundle
        if name.startswith("rayspan-")
    }
    assert asked == {"rayspan-prefill": 2, "rayspan-decode": 3}
    assert {name: offered[name] for name in asked} == asked
    ingress = args["ingress_deployment_config"]["ray_actor_options"]["resources"]
    assert 0 < ingress["rayspan-head"] <= offered["rayspan-head"]
    assert config["http_options"]["host"] == "10.213.0.10"


def test_hosts_share_no_port_that_ray_opens_on_every_address() -> None:
    layout = lay_out(builtin_spec(), LabOptions(isolation="none"))
    assert [host.address for host in layout.hosts] == ["127.0.0.10", "127.0.0.11", "127.0.0.12"]
    ports = {metrics_port(host) for host in layout.hosts}
    assert len(ports) == 3
    head = head_settings(builtin_spec(), layout.head, Path("/r"))
    worker = worker_settings(builtin_spec(), layout.hosts[1], Path("/r"))
    assert head["ray_settings"]["_metrics_export_port"] != worker["metrics_port"]
    assert worker["temp_dir"] == "/r/ray"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (LabOptions(workers=1), "--workers: found 1; rayspan has 2 pools"),
        (LabOptions(workers=0), "--workers: found 0, allowed: 1 to 64"),
        (LabOptions(workers=65), "--workers: found 65, allowed: 1 to 64"),
        (LabOptions(subnet="10.0.0.0/29"), "10.0.0.0/29 has 8 addresses, the lab needs 14"),
        (LabOptions(subnet="10.0.0.1/24"), "--subnet: found '10.0.0.1/24'"),
        (LabOptions(subnet="far away"), "--subnet: found 'far away'"),
    ],
)
def test_what_does_not_fit_is_refused(options: LabOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        lay_out(builtin_spec(), options)


def test_an_unknown_host_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="no host 'worker-9'; allowed: head, worker-1, worker-2"):
        lay_out(builtin_spec(), LabOptions()).host("worker-9")


def test_names_fit_the_kernel() -> None:
    for label in (LabOptions().label, "rayspan-nc"):
        layout = lay_out(spec(64, 1), LabOptions(workers=64, label=label))
        assert all(len(host.plug) <= 15 for host in layout.hosts)
