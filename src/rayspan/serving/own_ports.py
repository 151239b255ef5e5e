"""Gives every engine that computes on GPUs a port of its own to gather its workers on.

vLLM's Ray executor asks for port VLLM_DP_MASTER_PORT + 100 or one of the next 31, tests whether it
is free, and lets a worker bind it seconds later (ray_executor_v2.py, _select_tcpstore_port). The
variable is 0 for every engine that is not data parallel, so two replicas that start at once on one
host choose the same port and one of them dies. Ray Serve LLM calls this class in each replica
before it makes the engine's configuration; nothing is replaced, one variable is set.
"""

import os
from typing import Any

from ray import serve
from ray.llm._internal.common.callbacks.base import CallbackBase

VARIABLE = "VLLM_DP_MASTER_PORT"
_ADDED_BY_VLLM = 100


class OwnPorts(CallbackBase):  # type: ignore[misc]
    """Keywords: `first_port` of the pool, and `ports` that each replica has."""

    async def on_before_node_init(self) -> None:
        """The configuration is made in a task with this runtime environment, or right here."""
        rank = serve.get_replica_context().rank.rank
        port = store_port(rank, self.kwargs["first_port"], self.kwargs["ports"])
        variables: dict[str, Any] = self.ctx.runtime_env.setdefault("env_vars", {})
        variables[VARIABLE] = os.environ[VARIABLE] = str(port - _ADDED_BY_VLLM)


def store_port(rank: int, first_port: int, ports: int) -> int:
    """The first port of the replica of `rank`: Serve gives ranks from 0, each to one replica."""
    return first_port + rank * ports
