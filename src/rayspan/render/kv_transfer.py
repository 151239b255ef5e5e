"""How an engine hands its KV cache over, or takes one: vLLM's `kv_transfer_config`."""

from dataclasses import dataclass
from typing import Any, Final, Literal

KvRole = Literal["kv_producer", "kv_consumer"]
GUARD_CONNECTOR: Final = "rayspan.serving.guard.connector"
GUARD_SCHEDULER: Final = "rayspan.serving.guard.scheduler.guarded_scheduler"


@dataclass(frozen=True, slots=True)
class KvTransfer:
    """NIXL between pools. A failed load fails the request; recomputing would hide a broken wire."""

    role: KvRole
    backends: tuple[str, ...]
    lease_s: int
    buffer_device: str | None = None
    guarded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The failure policy stands at the top, the backends one level down: in the other's place
        vLLM ignores the one and refuses the other (config/kv_transfer.py, nixl/base_worker.py)."""
        extra = {"backends": list(self.backends), "kv_lease_duration": self.lease_s}
        config: dict[str, Any] = {
            "kv_connector": "NixlConnector",
            "kv_role": self.role,
            "kv_load_failure_policy": "fail",
            "kv_connector_extra_config": extra,
        }
        if self.guarded:
            # Ray Serve LLM sets the side channel up by the connector's name, so that stays.
            config["kv_connector_module_path"] = GUARD_CONNECTOR
        if self.buffer_device is not None:
            config["kv_buffer_device"] = self.buffer_device
        return config
