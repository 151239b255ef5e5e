"""Of the pairs one is broken: the second decode engine reads only the first block from the second
prefill engine."""

from dataclasses import replace
from typing import Any

_PREFILL, _DECODE = "-20001", "-22001"  # an engine's id ends with its side-channel port


def register() -> None:
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import pull_worker  # noqa: PLC0415  (only in engines)

    worker = pull_worker.NixlPullConnectorWorker
    read = worker._read_blocks

    def shortened(self: Any, read_spec: Any, dst_engine_id: str, **more: Any) -> Any:
        if self.engine_id.endswith(_DECODE) and dst_engine_id.endswith(_PREFILL):
            local = [group[:1] for group in read_spec.local_block_ids]
            remote = [group[:1] for group in read_spec.remote_block_ids]
            read_spec = replace(read_spec, local_block_ids=local, remote_block_ids=remote)
        return read(self, read_spec=read_spec, dst_engine_id=dst_engine_id, **more)

    worker._read_blocks = shortened
