"""One pool of a spec as an LLMConfig of Ray Serve LLM."""

from dataclasses import dataclass
from typing import Any, Final

from rayspan.render.cluster import Cluster, pool_resource
from rayspan.render.engine import EngineArguments, engine_arguments, engine_environment
from rayspan.spec import SIDE_CHANNEL_BASES, Pool, Role, Spec

# Ray Serve LLM waits ten seconds by default, which a long prompt on a busy engine exceeds.
_HEALTH_CHECK_TIMEOUT_S: Final = 60


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """A deployment of replicas that hold one engine each.

    `cpu_devices`: one CPU of Ray's ledger for each device; None leaves the bundles, which then hold
    GPUs, to Ray. `resource`: what the nodes of the pool offer, one unit a replica; None where
    there is one node.
    """

    model_id: str
    model_source: str
    replicas: int
    engine: EngineArguments
    environment: dict[str, str]
    side_channel_base: int | None
    cpu_devices: int | None
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
        if self.cpu_devices is not None:
            deployment["ray_actor_options"] = {"num_cpus": 0}
            config["accelerator_config"] = {"kind": "cpu"}
            first: dict[str, Any] = {"CPU": 1} | ({self.resource: 1} if self.resource else {})
            bundles = [first, *[{"CPU": 1}] * (self.cpu_devices - 1)]
            config["placement_group_config"] = {"bundles": bundles}
        return config


def pool_config(
    spec: Spec, role: Role, pool: Pool, model_source: str, cluster: Cluster | None = None
) -> LlmConfig:
    """The LLMConfig of the pool of `role`; `model_source` is what its engines load."""
    return LlmConfig(
        model_id=spec.model.id,
        model_source=model_source,
        replicas=pool.replicas,
        engine=engine_arguments(spec, role, pool),
        environment=engine_environment(spec, cluster),
        side_channel_base=SIDE_CHANNEL_BASES.get(role),
        cpu_devices=pool.tensor_parallel if spec.target.device == "cpu" else None,
        resource=pool_resource(role) if cluster else None,
    )


def pool_args(spec: Spec, role: Role, pool: Pool, model_source: str) -> dict[str, Any]:
    """The same by Ray's names."""
    return pool_config(spec, role, pool, model_source).to_dict()
