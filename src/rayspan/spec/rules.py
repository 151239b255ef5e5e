"""Rules between fields. What vLLM would refuse at the first request, or never, is refused here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from rayspan.errors import InputError
from rayspan.spec.serving import PrefillDecode
from rayspan.stack.row import find_row

if TYPE_CHECKING:
    from rayspan.spec.root import Spec

# Engine arguments that have a field of their own, or that rayspan or Ray Serve LLM sets.
OWNED = {
    "model": "model.source",
    "served_model_name": "model.id",
    "max_model_len": "model.max_model_len",
    "dtype": "model.dtype",
    "tensor_parallel_size": "tensor_parallel",
    "block_size": "block_size",
    "kv_cache_memory_bytes": "kv_cache",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "enforce_eager": "target.enforce_eager",
    "kv_transfer_config": "serving.transport and serving.kv_lease_s",
    "distributed_executor_backend": "",
    "data_parallel_size": "replicas",
    "disable_log_stats": "",
}
# vLLM's NIXL handshake compares these; a difference fails the first request, not the start.
_MUST_AGREE = (
    "kv_cache_dtype", "attention_backend", "quantization", "load_format", "revision",
    "hf_overrides", "speculative_config", "disable_hybrid_kv_cache_manager", "trust_remote_code",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken rule at a field of the spec."""

    path: tuple[str, ...]
    message: str


def check(spec: "Spec") -> None:
    """Raises a validation error that carries every broken rule."""
    broken = tuple(_broken(spec))
    if broken:
        raise PydanticCustomError("rules", "rules between fields", {"broken": broken})


def _broken(spec: "Spec") -> Iterator[Broken]:
    prefix: tuple[str, ...]
    for role, pool in spec.pools().items():
        prefix = ("serving",) if role == "colocated" else ("serving", role)
        yield from _engine_rules((*prefix, "engine"), pool.engine)
    if isinstance(spec.serving, PrefillDecode):
        yield from _pair_rules(spec.serving)
        if spec.serving.transport.kind == "efa":
            path = ("serving", "transport", "kind")
            yield Broken(path, '"efa" needs EFA devices, which a local target has not: use "ucx" or "tcp"')
    if spec.stack is not None:
        yield from _stack_rules(spec.stack, spec.target.device)
    if spec.target.port == spec.target.dashboard_port:
        yield Broken(("target", "dashboard_port"), f"{spec.target.port} is also target.port")


def _stack_rules(row_id: str, device: str) -> Iterator[Broken]:
    try:
        row = find_row(row_id)
    except InputError as error:
        yield Broken(("stack",), str(error))
        return
    if row.device != device:
        yield Broken(("stack",), f'"{row_id}" is for {row.device}, the target\'s device is {device}')


def _engine_rules(path: tuple[str, ...], engine: Mapping[str, Any]) -> Iterator[Broken]:
    for key in engine:
        if key in OWNED:
            instead = f"use {OWNED[key]}" if OWNED[key] else "leave it out"
            yield Broken((*path, key), f"set by rayspan: {instead}")


def _pair_rules(serving: PrefillDecode) -> Iterator[Broken]:
    prefill, decode = serving.prefill, serving.decode
    if (prefill.block_size is None) != (decode.block_size is None):
        side = "prefill" if prefill.block_size is None else "decode"
        yield Broken(("serving", side), "block_size is set in the other pool: set it in both or neither")
    elif prefill.block_size and decode.block_size and decode.block_size % prefill.block_size:
        path = ("serving", "decode", "block_size")
        yield Broken(
            path, f"{decode.block_size} is not a multiple of prefill's block_size {prefill.block_size}"
        )
    small, large = sorted((prefill.tensor_parallel, decode.tensor_parallel))
    if large % small:
        path = ("serving", "decode", "tensor_parallel")
        yield Broken(
            path,
            f"{decode.tensor_parallel} and prefill's {prefill.tensor_parallel}: one must be a multiple "
            "of the other",
        )
    for key in _MUST_AGREE:
        if prefill.engine.get(key) != decode.engine.get(key):
            path = ("serving", "decode", "engine", key)
            found = f"{decode.engine.get(key)!r}, prefill has {prefill.engine.get(key)!r}"
            yield Broken(path, f"{found}: both pools must agree")
