"""Which engines there are, and on which node each runs: Serve's account, in the record's names."""

from collections.abc import Sequence
from dataclasses import dataclass

from rayspan.adapters.replicas import ServeApp, read_app
from rayspan.verify.target import Deployed, DeployedNode


@dataclass(frozen=True, slots=True)
class Member:
    """A running replica. `node` is a name of the record, or the bare address when it has none."""

    role: str
    replica: str
    pid: int | None
    node: str

    def __str__(self) -> str:
        return f"{self.role} {self.replica} on {self.node or 'an unknown node'}"


@dataclass(frozen=True, slots=True)
class Roster:
    members: tuple[Member, ...]

    def of(self, role: str) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.role == role)

    def nodes_of(self, role: str) -> frozenset[str]:
        return frozenset(member.node for member in self.of(role))


def read_roster(deployed: Deployed) -> Roster:
    """Empty when Serve does not answer."""
    return roster_of(read_app(deployed.dashboard), deployed.nodes)


def roster_of(app: ServeApp, nodes: Sequence[DeployedNode]) -> Roster:
    names = {node.address: node.name for node in nodes}
    return Roster(
        tuple(
            Member(r.role, r.replica, r.pid, names.get(r.node, r.node))
            for r in app.replicas
            if r.state == "RUNNING"
        )
    )
