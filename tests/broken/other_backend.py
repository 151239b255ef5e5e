"""The engines open a second NIXL backend, which nobody asked for, and may move KV over either."""

from typing import Any


def register() -> None:
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import (  # noqa: PLC0415  (only in engines)
        base_worker,
    )

    worker = base_worker.NixlBaseConnectorWorker
    register_caches = worker.register_kv_caches

    def with_another(self: Any, kv_caches: Any) -> None:
        self.nixl_wrapper.create_backend("POSIX", {})
        register_caches(self, kv_caches)

    worker.register_kv_caches = with_another
