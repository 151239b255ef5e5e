"""Decode reads all blocks of a prompt but the second, and says it has them all."""

from typing import Any

_LOST = 1


def register() -> None:
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import pull_worker  # noqa: PLC0415  (only in engines)

    worker = pull_worker.NixlPullConnectorWorker
    compute = worker._compute_desc_ids

    def gapped(self: Any, block_ids: Any, *args: Any, **kwargs: Any) -> Any:
        kept = [[*group[:_LOST], *group[_LOST + 1 :]] for group in block_ids]
        return compute(self, kept, *args, **kwargs)

    worker._compute_desc_ids = gapped
