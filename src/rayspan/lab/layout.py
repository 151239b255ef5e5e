"""Which hosts a lab has, and which pool each of them holds. Pure."""

import ipaddress
from dataclasses import dataclass
from typing import Final, Literal

from rayspan.errors import InputError
from rayspan.render.cluster import HEAD_RESOURCE, HEAD_UNITS, pool_resource
from rayspan.spec import Role, Spec

Isolation = Literal["full", "network", "none"]
HEAD: Final = "head"
LABEL: Final = "rayspan-lab"  # and a dash and a number make a name of at most 15 bytes
_HEAD_AT, _FIRST_WORKER_AT = 10, 11
_LOOPBACK: Final = "127.0.0.0/24"
_MOST_WORKERS = 64


@dataclass(frozen=True, slots=True)
class LabOptions:
    """What a user may choose. `bandwidth` as tc writes it ("1gbit"); `loss` in percent.

    `label` begins the name of all that the lab adds to this machine's network.
    """

    workers: int = 2
    isolation: Isolation = "full"
    bandwidth: str | None = None
    latency_ms: float = 0.0
    loss: float = 0.0
    subnet: str = "10.213.0.0/24"
    label: str = LABEL


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host: `roles` maps each pool it holds to its number of replicas there."""

    name: str
    address: str
    index: int
    cpus: int
    roles: dict[Role, int]
    label: str = LABEL

    @property
    def namespace(self) -> str:
        return f"{self.label}-{self.name}"

    @property
    def plug(self) -> str:
        """This machine's end of the host's cable."""
        return f"{self.label}-{self.index}"

    @property
    def is_head(self) -> bool:
        return self.name == HEAD

    @property
    def resources(self) -> dict[str, float]:
        """What its Ray node offers beside CPUs."""
        if self.is_head:
            return {HEAD_RESOURCE: HEAD_UNITS}
        return {pool_resource(role): float(count) for role, count in self.roles.items()}


@dataclass(frozen=True, slots=True)
class Layout:
    """All hosts, the head first, and the addresses around them. `gateway`: this machine's own."""

    hosts: tuple[HostPlan, ...]
    gateway: str
    prefix: int
    bridge: str = LABEL

    @property
    def head(self) -> HostPlan:
        return self.hosts[0]

    def host(self, name: str) -> HostPlan:
        """Raises InputError naming the hosts there are."""
        for host in self.hosts:
            if host.name == name:
                return host
        known = ", ".join(host.name for host in self.hosts)
        raise InputError(f"the lab has no host {name!r}; allowed: {known}")


def lay_out(spec: Spec, options: LabOptions) -> Layout:
    """Gives each pool hosts of its own, as worker groups do, and spreads its replicas evenly.

    Raises InputError when the spec needs more hosts than the lab has, or the subnet is no such.
    """
    network = _network(options)
    shares = _hosts_of_pools(spec, options.workers)
    hosts = [HostPlan(HEAD, str(network[_HEAD_AT]), 0, 1, {}, options.label)]
    for role, count in shares.items():
        pool = spec.pools()[role]
        for nth in range(count):
            replicas = pool.replicas // count + (nth < pool.replicas % count)
            index = len(hosts)
            hosts.append(
                HostPlan(
                    f"worker-{index}",
                    str(network[_FIRST_WORKER_AT + index - 1]),
                    index,
                    max(1, replicas * pool.devices),
                    {role: replicas},
                    options.label,
                )
            )
    return Layout(tuple(hosts), str(network[1]), network.prefixlen, options.label)


def _hosts_of_pools(spec: Spec, workers: int) -> dict[Role, int]:
    """How many hosts each pool gets: one each, and the rest to the pool with most replicas a host.

    A host that would stay empty is still a host: it is what `return` and drains need.
    """
    pools = spec.pools()
    if not 1 <= workers <= _MOST_WORKERS:
        raise InputError(f"--workers: found {workers}, allowed: 1 to {_MOST_WORKERS}")
    if workers < len(pools):
        raise InputError(
            f"--workers: found {workers}; {spec.name} has {len(pools)} pools "
            f"({', '.join(pools)}), each on hosts of its own",
            fix=f"write --workers {len(pools)} or more",
        )
    shares = dict.fromkeys(pools, 1)
    for _ in range(workers - len(pools)):
        shares[max(shares, key=lambda role: pools[role].replicas / shares[role])] += 1
    return shares


def _network(options: LabOptions) -> ipaddress.IPv4Network:
    text = _LOOPBACK if options.isolation == "none" else options.subnet
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise InputError(
            f"--subnet: found {text!r} ({error})", fix="write one such as 10.213.0.0/24"
        ) from error
    needed = _FIRST_WORKER_AT + options.workers
    if network.num_addresses <= needed:
        raise InputError(
            f"--subnet: {text} has {network.num_addresses} addresses, the lab needs {needed + 1}",
            fix="write a larger one such as 10.213.0.0/24",
        )
    return network
