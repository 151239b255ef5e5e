"""Rules on how an engine's devices are cut, shared and laid over nodes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rayspan.spec.base import Fault, FieldPath
from rayspan.spec.pool import Pool

if TYPE_CHECKING:
    from rayspan.spec.serving import PrefillDecode

# vLLM gives an engine this share of a GPU's memory when it is not told (config/cache.py).
_DEFAULT_MEMORY_SHARE: Final = 0.92


def find_device_faults(pool: Pool, path: FieldPath, device: str) -> Iterator[Fault]:
    """What a pool asks of its devices that `device`, cpu or cuda, does not give."""
    yield from _placement_faults(pool, path, device)
    if pool.gpu_share < 1:
        yield from _share_faults(pool, (*path, "gpu_share"), device)


def _placement_faults(pool: Pool, path: FieldPath, device: str) -> Iterator[Fault]:
    """Ray Serve LLM gives CPU engines vLLM's `mp` executor, which starts every worker where the
    replica runs (ray/llm/_internal/serve/engines/vllm/vllm_models.py, get_initialization_kwargs).
    """
    where = (*path, "placement")
    if pool.placement == "pack":
        return
    if pool.devices == 1:
        yield Fault(
            where,
            f'found "{pool.placement}", allowed: pack, for an engine here has one device',
            "leave placement out, or raise tensor_parallel or pipeline_parallel",
        )
    elif device == "cpu" and pool.placement != "strict-pack":
        yield Fault(
            where,
            f'found "{pool.placement}", allowed on cpu: pack, strict-pack; Ray Serve LLM runs CPU '
            "engines with vLLM's mp executor, which keeps all devices of an engine on one node",
            "write target.device: cuda, or leave placement out",
        )


def _share_faults(pool: Pool, where: FieldPath, device: str) -> Iterator[Fault]:
    share = f"{pool.gpu_share:g}"
    if device == "cpu":
        yield Fault(where, f"found {share}, allowed on cpu: 1, for there are no GPUs to share")
    elif pool.devices > 1:
        yield Fault(
            where,
            f"found {share}, allowed: 1 for an engine of {pool.devices} devices, which could "
            "otherwise get one GPU twice",
        )
    else:
        wanted = pool.engine.get("gpu_memory_utilization", _DEFAULT_MEMORY_SHARE)
        if isinstance(wanted, int | float) and wanted > pool.gpu_share:
            yield Fault(
                where,
                f"found {share}, allowed: at least engine.gpu_memory_utilization, which is "
                f"{wanted:g}: an engine must fit into its share of the GPU's memory",
                f"write engine: {{gpu_memory_utilization: {pool.gpu_share * 0.9:g}}}",
            )


def find_stage_faults(serving: "PrefillDecode") -> Iterator[Fault]:
    """Pipeline stages, which vLLM's NIXL connector hands over from nowhere to nowhere.

    A decode engine that pulls asks for the metadata of prefill's first stage alone, as the
    hand-over names no number of stages (nixl/pull_scheduler.py, request_finished; base_worker.py,
    _nixl_handshake, `remote_pp_size: int = 1`); one with stages of its own ends at its start
    (base_worker.py, __init__: "does not support pipeline_parallel_size > 1").
    """
    reasons = {
        "prefill": "decode would read the layers of the first stage alone",
        "decode": "it takes the KV cache over on one stage alone",
    }
    for role, pool in (("prefill", serving.prefill), ("decode", serving.decode)):
        if pool.pipeline_parallel > 1:
            yield Fault(
                ("serving", role, "pipeline_parallel"),
                f"found {pool.pipeline_parallel}, allowed under prefill-decode: 1, by vLLM's NIXL "
                f"connector: {reasons[role]}",
                "use tensor_parallel, or serving.kind: colocated",
            )
