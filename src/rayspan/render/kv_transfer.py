"""How an engine hands its KV cache over, or takes one: vLLM's `kv_transfer_config`."""

from dataclasses import dataclass
from typing import Any, Literal

KvRole = Literal["kv_producer", "kv_consumer"]


@dataclass(frozen=True, slots=True)
class KvTransfer:
    """NIXL between pools. A failed load fails the request; recomputing would hide a broken wire."""

    role: KvRole
    backends: tuple[str, ...]
    lease_s: int
    buffer_device: str | None = None

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
        if self.buffer_device is not None:
            config["kv_buffer_device"] = self.buffer_device
        return config
