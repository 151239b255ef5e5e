"""Lets NIXL's UCX progress thread sleep between events, on hosts where engines share cores.

NIXL's Python agent asks for a progress thread with a poll timeout of zero, so every idle engine
keeps one core at 100 %. On a GPU server that buys microseconds; on a laptop with two engines it
takes both cores from the engines. The thread already waits on UCX's event descriptors, so with a
timeout above zero it wakes when data arrives. NIXL has no setting for it: this is the one place
that reaches in.
"""

import os
import sys
from types import ModuleType
from typing import Any

DELAY_US = "RAYSPAN_NIXL_PROGRESS_DELAY_US"


def register() -> None:
    """Entry point of the group `vllm.general_plugins`; does nothing unless the variable is set."""
    if delay_us := int(os.environ.get(DELAY_US, "0")):
        sleep_when_idle(delay_us)


def sleep_when_idle(delay_us: int) -> None:
    """Gives agents made from now on a progress thread that sleeps at most `delay_us` at a time.

    Raises AttributeError when this NIXL no longer builds its agents in the way replaced here.
    """
    import nixl._api as api

    bindings_user: ModuleType = sys.modules[api.nixl_agent.__module__]
    bindings = vars(bindings_user)["nixlBind"]
    bindings.nixlAgentConfig.pthrDelay  # noqa: B018  (fails here rather than silently later)

    class SleepingConfig(bindings.nixlAgentConfig):  # type: ignore[misc, name-defined]
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, delay_us if name == "pthrDelay" else value)

    vars(bindings_user)["nixlBind"] = _Bindings(bindings, SleepingConfig)


class _Bindings:
    """NIXL's bindings with one class replaced."""

    def __init__(self, bindings: ModuleType, config: type) -> None:
        self._bindings = bindings
        self.nixlAgentConfig = config

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bindings, name)
