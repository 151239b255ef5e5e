"""The hosts of a lab as they are now."""

from dataclasses import dataclass

from rayspan.adapters import processes
from rayspan.adapters.ray_nodes import alive_nodes
from rayspan.lab import network
from rayspan.lab.layout import HostPlan
from rayspan.lab.state import Lab
from rayspan.local.run_folder import Deployment
from rayspan.spec import Role


@dataclass(frozen=True, slots=True)
class Host:
    """`state`: up, down, or "not in the cluster" for one whose Ray node is gone."""

    name: str
    address: str
    roles: dict[Role, int]
    state: str
    pid: int
    memory_bytes: int
    cut_from: tuple[str, ...]


def read_hosts(lab: Lab, deployment: Deployment) -> tuple[Host, ...]:
    joined = set(alive_nodes(deployment.dashboard))
    return tuple(_host(lab, plan, joined) for plan in lab.layout.hosts)


def _host(lab: Lab, plan: HostPlan, joined: set[str]) -> Host:
    pid = lab.pids[plan.name]
    alive = processes.is_alive(pid)
    state = "down" if not alive else "up" if plan.address in joined else "not in the cluster"
    others = [other for other in lab.layout.hosts if other != plan]
    linked = alive and lab.options.isolation != "none"
    return Host(
        name=plan.name,
        address=plan.address,
        roles=plan.roles,
        state=state,
        pid=pid,
        memory_bytes=sum(map(processes.pss_bytes, processes.tree(pid))),
        cut_from=tuple(o.name for o in others if linked and network.is_cut(plan, o)),
    )
