"""Keeps CPU engines off each other's core after NIXL has started.

vLLM's NIXL worker binds the thread that made it, which computes the model, to the last core of
each NUMA node, to spare the others for computing; with `nobind`, no other thread computes, so
every engine of the host ends on that one core. This is the one place that reaches in.
"""

import functools
import os
from typing import Any

BINDING = "VLLM_CPU_OMP_THREADS_BIND"


def register() -> None:
    """Entry point of the group `vllm.general_plugins`; acts where threads are not to be bound."""
    if os.environ.get(BINDING) == "nobind":
        keep_affinity()


def keep_affinity() -> None:
    """Makes NIXL workers leave the CPU affinity of their thread as it was."""
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import base_worker

    start = base_worker.NixlBaseConnectorWorker.__init__
    if hasattr(start, "__wrapped__"):
        return  # vLLM may load plugins more than once in a process

    @functools.wraps(start)
    def start_unpinned(self: Any, *args: Any, **kwargs: Any) -> None:
        allowed = os.sched_getaffinity(0)
        start(self, *args, **kwargs)
        os.sched_setaffinity(0, allowed)

    base_worker.NixlBaseConnectorWorker.__init__ = start_unpinned
