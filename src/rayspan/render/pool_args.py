"""One pool of a spec as an LLMConfig of Ray Serve LLM."""

from dataclasses import dataclass
from typing import Any, Final

from rayspan.render.cluster import Cluster, pool_resource
from rayspan.render.engine import EngineArguments, engine_arguments, engine_environment
from rayspan.spec import SIDE_CHANNEL_BASES, STORE_BASES, STORE_PORTS, Placement, Pool, Role, Spec

# Ray Serve LLM waits ten seconds by default, which a long prompt on a busy engine exceeds.
_HEALTH_CHECK_TIMEOUT_S: Final = 60
_STRATEGIES: Final[dict[Placement, str]] = {
    "pack": "PACK",
    "strict-pack": "STRICT_PACK",
    "spread": "SPREAD",
    "strict-spread": "STRICT_SPREAD",
}


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """A deployment of replicas that hold one engine each.

    `devices` of an engine: on CPU each takes one CPU of Ray's ledger, else `gpu_share` of a GPU.
    `strategy`: Ray's, by which the devices lie over nodes. `store_base`: the first port of the
    pool's engines for gathering their workers; None where vLLM finds one.
    `resource`: what the nodes of the pool offer, one unit a replica; None where there is one node.
    """

    model_id: str
    model_source: str
    replicas: int
    engine: EngineArguments
    environment: dict[str, str]
    side_channel_base: int | None
    devices: int
    on_cpu: bool
    gpu_share: float = 1
    strategy: str = "PACK"
    store_base: int | None = None
    resource: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """By Ray's names."""
        deployment: dict[str, Any] = {
            "num_replicas": self.replicas,
            "health_check_timeout_s": _HEALTH_CHECK_TIMEOUT_S,
        }
        # Ray Serve LLM holds tokens back for 50 ms by default, to send several at once.
        experimental: dict[str, Any] = {"stream_batching_interval_ms": 0}
        config: dict[str, Any] = {
            "model_loading_config": {"model_id": self.model_id, "model_source": self.model_source},
            "engine_kwargs": self.engine.to_dict(),
            "deployment_config": deployment,
            "experimental_configs": experimental,
            "log_engine_metrics": True,
        }
        if self.side_channel_base is not None:
            experimental["NIXL_SIDE_CHANNEL_PORT_BASE"] = self.side_channel_base
        if self.environment:
            config["runtime_env"] = {"env_vars": self.environment}
        if self.store_base is not None:
            config["callback_config"] = {
                "callback_class": "rayspan.serving.own_ports:OwnPorts",
                "callback_kwargs": {"first_port": self.store_base, "ports": STORE_PORTS},
            }
        if self.on_cpu:
            deployment["ray_actor_options"] = {"num_cpus": 0}
            config["accelerator_config"] = {"kind": "cpu"}
        if placement := self._placement():
            config["placement_group_config"] = placement
        return config

    def _placement(self) -> dict[str, Any]:
        """Empty where Ray's own, a whole GPU for each device and PACK, is what is wanted."""
        strategy = {} if self.strategy == "PACK" else {"strategy": self.strategy}
        if not self.on_cpu and self.resource is None:
            whole = self.gpu_share == 1 and not strategy
            return {} if whole else {"bundle_per_worker": {"GPU": self.gpu_share}, **strategy}
        each: dict[str, float] = {"CPU": 1} if self.on_cpu else {"GPU": self.gpu_share}
        first = each | ({self.resource: 1} if self.resource else {})
        return {"bundles": [first, *[each] * (self.devices - 1)], **strategy}


def pool_config(
    spec: Spec, role: Role, pool: Pool, model_source: str, cluster: Cluster | None = None
) -> LlmConfig:
    """The LLMConfig of the pool of `role`; `model_source` is what its engines load."""
    cpu = spec.target.device == "cpu"
    return LlmConfig(
        model_id=spec.model.id,
        model_source=model_source,
        replicas=pool.replicas,
        engine=engine_arguments(spec, role, pool),
        environment=engine_environment(spec, cluster) | _share_environment(pool),
        side_channel_base=SIDE_CHANNEL_BASES.get(role),
        devices=pool.devices,
        on_cpu=cpu,
        gpu_share=pool.gpu_share,
        strategy=_strategy(pool, cpu),
        store_base=None if cpu else STORE_BASES[role],
        resource=pool_resource(role) if cluster else None,
    )


def _share_environment(pool: Pool) -> dict[str, str]:
    """How much of its bundle a worker asks for. Ray Serve LLM says it to its own tasks alone, and
    an engine that is not told asks for a whole GPU, which its bundle never has."""
    return {"VLLM_RAY_PER_WORKER_GPUS": f"{pool.gpu_share:g}"} if pool.gpu_share < 1 else {}


def _strategy(pool: Pool, cpu: bool) -> str:
    """On CPU all of an engine's workers start where its replica does, wherever Ray put the bundles:
    only on one node does Ray's ledger tell the truth."""
    return "STRICT_PACK" if cpu and pool.devices > 1 else _STRATEGIES[pool.placement]
