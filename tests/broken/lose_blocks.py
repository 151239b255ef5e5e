"""Decode reads only the first block of each prompt, and says it has them all."""

from typing import Any


def register() -> None:
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import pull_worker  # noqa: PLC0415  (only in engines)

    worker = pull_worker.NixlPullConnectorWorker
    compute = worker._compute_desc_ids

    def shortened(self: Any, block_ids: Any, *args: Any, **kwargs: Any) -> Any:
        return compute(self, [group[:1] for group in block_ids], *args, **kwargs)

    worker._compute_desc_ids = shortened
