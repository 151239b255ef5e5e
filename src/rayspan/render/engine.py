"""What one engine of a pool is told: vLLM's arguments and the environment they need."""

from dataclasses import dataclass, field
from typing import Any, Final

from rayspan.render.cluster import Cluster
from rayspan.render.kv_transfer import GUARD_SCHEDULER, KvRole, KvTransfer
from rayspan.spec import Pool, PrefillDecode, Role, Spec
from rayspan.units import Bytes

_KV_ROLES: Final[dict[Role, KvRole]] = {"prefill": "kv_producer", "decode": "kv_consumer"}
_GPU_WORKER: Final = "rayspan.serving.gpu_worker.GpuWorker"
# UCX's own name for TCP alone; on GPUs it also needs a way to copy to and from the device.
_TCP: Final = {"cpu": "tcp", "cuda": "tcp,cuda_copy"}


@dataclass(frozen=True, slots=True)
class EngineArguments:
    """vLLM's engine arguments. None leaves one to the engine; `raw` is passed on as it is."""

    dtype: str
    tensor_parallel_size: int
    enforce_eager: bool
    pipeline_parallel_size: int | None = None
    max_model_len: int | None = None
    block_size: int | None = None
    kv_cache: Bytes | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    worker_cls: str | None = None
    kv_transfer: KvTransfer | None = None
    raw: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """By vLLM's names. The seed is vLLM's own default, said so that it cannot move. It and the
        worker's class are what `raw` may replace."""
        named = {
            "dtype": self.dtype,
            "tensor_parallel_size": self.tensor_parallel_size,
            "pipeline_parallel_size": self.pipeline_parallel_size,
            "enforce_eager": self.enforce_eager,
            "max_model_len": self.max_model_len,
            "block_size": self.block_size,
            "kv_cache_memory_bytes": None if self.kv_cache is None else int(self.kv_cache),
            "max_num_seqs": self.max_num_seqs,
            "max_num_batched_tokens": self.max_num_batched_tokens,
            "kv_transfer_config": self.kv_transfer and self.kv_transfer.to_dict(),
            "scheduler_cls": GUARD_SCHEDULER if self._is_guarded() else None,
        }
        said = {name: value for name, value in named.items() if value is not None}
        replaceable = {"seed": 0} | ({"worker_cls": self.worker_cls} if self.worker_cls else {})
        return {**replaceable, **self.raw, **said}

    def _is_guarded(self) -> bool:
        return self.kv_transfer is not None and self.kv_transfer.guarded


def engine_arguments(spec: Spec, role: Role, pool: Pool) -> EngineArguments:
    """The arguments of each engine in the pool of `role`."""
    return EngineArguments(
        dtype=spec.model.dtype,
        tensor_parallel_size=pool.tensor_parallel,
        pipeline_parallel_size=pool.pipeline_parallel if pool.pipeline_parallel > 1 else None,
        enforce_eager=spec.target.enforce_eager,
        max_model_len=spec.model.max_model_len,
        block_size=pool.block_size,
        kv_cache=pool.kv_cache,
        max_num_seqs=pool.max_num_seqs,
        max_num_batched_tokens=pool.max_num_batched_tokens,
        worker_cls=_GPU_WORKER if spec.target.device == "cuda" else None,
        kv_transfer=_kv_transfer(spec, role),
        raw=pool.engine,
    )


def _kv_transfer(spec: Spec, role: Role) -> KvTransfer | None:
    if not isinstance(spec.serving, PrefillDecode):
        return None
    return KvTransfer(
        role=_KV_ROLES[role],
        backends=("UCX",),
        lease_s=spec.serving.kv_lease_s,
        buffer_device="cpu" if spec.target.device == "cpu" else None,
        guarded=spec.serving.server == "rayspan",
    )


def engine_environment(spec: Spec, cluster: Cluster | None = None) -> dict[str, str]:
    """Variables of every engine's processes, alike in all pools."""
    return _transfer_environment(spec, cluster) | _cpu_environment(spec)


def _transfer_environment(spec: Spec, cluster: Cluster | None) -> dict[str, str]:
    if not isinstance(spec.serving, PrefillDecode):
        return {}
    # NIXL hands the states of Mamba and GDN layers over in this layout alone; no other layer asks.
    env = {"VLLM_SSM_CONV_STATE_LAYOUT": "DS"}
    if cluster:
        env["UCX_NET_DEVICES"] = cluster.interface
    elif spec.target.is_loopback and not _leaves_its_node(spec):
        env["UCX_NET_DEVICES"] = "lo"
    if spec.serving.transport.kind == "tcp":
        env["UCX_TLS"] = _TCP[spec.target.device]
    return env


def _leaves_its_node(spec: Spec) -> bool:
    """Whether an engine is meant to lie on several nodes, between which nothing goes by loopback.
    Such a spec is rendered for a cluster: `rayspan up` starts one node."""
    return any("spread" in pool.placement for pool in spec.pools().values())


def _cpu_environment(spec: Spec) -> dict[str, str]:
    if spec.target.device != "cpu":
        return {}
    # Engines that share cores must not all pin their threads to the same ones.
    env = {
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": str(spec.target.threads_per_engine),
    }
    if spec.target.enforce_eager:
        env["TORCHDYNAMO_DISABLE"] = "1"  # vLLM compiles its sampler even so
    return env
