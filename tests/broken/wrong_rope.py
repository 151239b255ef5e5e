"""Every engine, prefill, decode and colocated alike, turns positions by a wrong angle.

It stands for a kernel that is wrong in all of them: only a reference outside the engine can tell.
"""

from typing import Any


def register() -> None:
    from vllm.model_executor.layers import rotary_embedding  # noqa: PLC0415  (only in engines)

    right = rotary_embedding.RotaryEmbedding
    if getattr(right, "_rayspan_broken", False):
        return
    compute = right._compute_inv_freq

    def wrong(self: Any, base: float) -> Any:
        return compute(self, base) * 1.05

    right._compute_inv_freq = wrong
    right._rayspan_broken = True
