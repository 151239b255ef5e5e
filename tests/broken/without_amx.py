"""Not broken: as on a CPU without AMX tiles.

Where a CPU has them, vLLM 0.26 forces a layout of the convolution state (vllm/platforms/cpu.py:242)
that its own NIXL connector refuses, so a model with such layers has no prefill/decode there.
"""


def register() -> None:
    import torch  # noqa: PLC0415  (only in engines)

    torch.cpu._is_amx_tile_supported = lambda: False
