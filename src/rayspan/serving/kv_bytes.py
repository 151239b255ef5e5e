"""Counts the bytes of KV cache that NIXL moves, exactly.

vLLM reports them as a histogram, and Ray's metrics agent rebuilds every histogram from the middles
of its buckets: the sum on Ray's metrics port can be off by more than half. Counters come through
unchanged, so the same observations also go into one. It appears on Ray's metrics port as
`ray_vllm_rayspan_kv_bytes_read_total`, on the engine that reads.
"""

from typing import Any

# vLLM clears what bears its name from the registry before another engine of a process registers.
COUNTER = "vllm:rayspan_kv_bytes_read"


def register() -> None:
    """Entry point of the group `vllm.general_plugins`; safe to call more than once.

    Raises AttributeError when this vLLM no longer builds its NIXL metrics in the way replaced here.
    """
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import connector  # noqa: PLC0415  (only in engines)
    from vllm.v1.metrics.utils import create_metric_per_engine  # noqa: PLC0415  (only in engines)

    reported = connector.NixlPromMetrics
    if reported.__name__ == "CountedMetrics":
        return

    class CountedMetrics(reported):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            counter = self._counter_cls(
                name=COUNTER,
                documentation="Bytes of KV cache read from another engine.",
                labelnames=self._labelnames,
            )
            self._bytes_read = create_metric_per_engine(counter, self.per_engine_labelvalues)

        def observe(self, transfer_stats_data: dict[str, Any], engine_idx: int = 0) -> None:
            super().observe(transfer_stats_data, engine_idx)
            self._bytes_read[engine_idx].inc(sum(transfer_stats_data["bytes_transferred"]))

    connector.NixlPromMetrics = CountedMetrics
