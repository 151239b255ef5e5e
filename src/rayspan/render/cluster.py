"""Where the pools of a spec lie when the cluster has several nodes.

Every node that is to hold replicas of a pool offers a resource named after it, one unit a replica,
and every replica asks for one unit. The head offers `rayspan-head`, which the endpoint asks for.
The same names stand in a RayCluster's worker groups.
"""

from dataclasses import dataclass
from typing import Final

from rayspan.spec import Role

HEAD_RESOURCE: Final = "rayspan-head"
# What a head offers: more than anything that asks for it will take.
HEAD_UNITS: Final = 100
_TAKEN_FROM_HEAD: Final = 0.01


@dataclass(frozen=True, slots=True)
class Cluster:
    """`address`: where the endpoint listens, the head's. `interface`: the network interface that
    the KV cache is to take, by its name on every node."""

    address: str
    interface: str

    @property
    def on_head(self) -> dict[str, float]:
        """What an actor asks for that is to run on the head."""
        return {HEAD_RESOURCE: _TAKEN_FROM_HEAD}


def pool_resource(role: Role) -> str:
    """Name of the resource that nodes of the pool of `role` offer."""
    return f"rayspan-{role}"
