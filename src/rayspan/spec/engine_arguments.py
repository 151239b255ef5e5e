"""Which vLLM engine arguments `engine:` may hold, and why the others may not stand there."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from pydantic import JsonValue

from rayspan.spec.base import Fault, FieldPath, suggest

# Have a field of their own. "{pool}" stands for the pool in which `engine:` stands.
_OWNED: Final = {
    "model": "model.source",
    "served_model_name": "model.id",
    "max_model_len": "model.max_model_len",
    "dtype": "model.dtype",
    "tensor_parallel_size": "{pool}.tensor_parallel",
    "pipeline_parallel_size": "{pool}.pipeline_parallel",
    "block_size": "{pool}.block_size",
    "kv_cache_memory_bytes": "{pool}.kv_cache",
    "max_num_seqs": "{pool}.max_num_seqs",
    "max_num_batched_tokens": "{pool}.max_num_batched_tokens",
    "enforce_eager": "target.enforce_eager",
    "data_parallel_size": "{pool}.replicas",
    "kv_transfer_config": "serving.transport and serving.kv_lease_s",
}
_RAY_PLACES: Final = "Ray places an engine's devices, by placement"
_REFUSED: Final = {
    "distributed_executor_backend": "Ray Serve LLM chooses it",
    "nnodes": _RAY_PLACES,
    "node_rank": _RAY_PLACES,
    "master_addr": _RAY_PLACES,
    "master_port": _RAY_PLACES,
    "disable_log_stats": "status and verify read the engine's metrics",
    "kv_offloading_size": "it replaces the connector that hands the KV cache over",
    "kv_offloading_backend": "it replaces the connector that hands the KV cache over",
}
_SERVER: Final = "Ray Serve answers HTTP, so vLLM would ignore it"


@cache
def _names() -> Mapping[str, frozenset[str]]:
    """By group: `engine`, `frontend`, and `server`, which only vLLM's own HTTP server reads."""
    text = files(__package__).joinpath("engine_arguments.toml").read_text(encoding="utf-8")
    return {group: frozenset(names) for group, names in tomllib.loads(text).items()}


def is_engine_argument(name: str) -> bool:
    """Whether `name` may stand under `engine:`."""
    return not _fault_in(name, "")


def find_engine_faults(engine: Mapping[str, JsonValue], pool: FieldPath) -> Iterator[Fault]:
    """What of a pool's `engine:` may not stand there. `pool` is the path of the pool."""
    for name in engine:
        if text := _fault_in(name, ".".join(str(step) for step in pool)):
            yield Fault((*pool, "engine", name), text, on_key=True)


def _fault_in(name: str, pool: str) -> str:
    if name in _OWNED:
        return f"has a field of its own: use {_OWNED[name].format(pool=pool)}"
    if name in _REFUSED:
        return f"cannot be set: {_REFUSED[name]}"
    if name.startswith("data_parallel_"):
        return f"cannot be set: data parallelism is {pool}.replicas"
    if name in _names()["server"]:
        return f"cannot be set: {_SERVER}"
    known = _names()["engine"] | _names()["frontend"]
    return "" if name in known else f"vLLM has no such argument{suggest(name, sorted(known))}"
