"""A spec as the configuration of Ray Serve: what `serve run` and `serve deploy` take."""

from dataclasses import dataclass
from typing import Any, Final

import yaml

from rayspan.render.cluster import Cluster
from rayspan.render.pool_args import LlmConfig, pool_config
from rayspan.spec import Role, Spec

APP_NAME: Final = "default"
_INGRESS: Final = "rayspan.serving.ingress"
_WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """One application behind one endpoint. Equal specs give equal bytes.

    `ingress_resources`: what keeps the endpoint's replica on the head of a cluster.
    """

    host: str
    port: int
    pools: dict[Role, LlmConfig]
    ingress_resources: dict[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As Serve's REST API takes it. Each call gives a fresh copy."""
        copy: dict[str, Any] = yaml.safe_load(self.to_yaml())
        return copy

    def to_yaml(self) -> str:
        """As text, keys in alphabetical order."""
        return yaml.dump(
            self._config(), Dumper=_Plain, sort_keys=True, width=_WIDTH, allow_unicode=True
        )

    def _config(self) -> dict[str, Any]:
        return {
            "proxy_location": "HeadOnly",
            "http_options": {"host": self.host, "port": self.port},
            "applications": [
                {
                    "name": APP_NAME,
                    "route_prefix": "/",
                    "import_path": f"ray.serve.llm:{self._builder()}",
                    "args": self._builder_arguments(),
                }
            ],
        }

    def _is_split(self) -> bool:
        return "colocated" not in self.pools

    def _builder(self) -> str:
        return "build_pd_openai_app" if self._is_split() else "build_openai_app"

    def _builder_arguments(self) -> dict[str, Any]:
        pools = {role: pool.to_dict() for role, pool in self.pools.items()}
        ingress = "PrefillDecodeIngress" if self._is_split() else "Ingress"
        return {
            "ingress_cls_config": {"ingress_cls": f"{_INGRESS}:{ingress}"},
            "ingress_deployment_config": {
                "num_replicas": 1,
                "ray_actor_options": self._ingress_options(),
            },
            **(
                {f"{role}_config": pool for role, pool in pools.items()}
                if self._is_split()
                else {"llm_configs": list(pools.values())}
            ),
        }

    def _ingress_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"num_cpus": 0}
        return options | ({"resources": self.ingress_resources} if self.ingress_resources else {})


class _Plain(yaml.SafeDumper):
    """Writes equal values out twice rather than as anchor and alias."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def render_serve_config(
    spec: Spec, model_source: str, cluster: Cluster | None = None
) -> ServeConfig:
    """`model_source`: the folder or hub id that engines load. `cluster`: how the nodes are told
    apart; None for one node."""
    pools = spec.pools().items()
    return ServeConfig(
        host=cluster.address if cluster else spec.target.host,
        port=spec.target.port,
        pools={role: pool_config(spec, role, pool, model_source, cluster) for role, pool in pools},
        ingress_resources=cluster.on_head if cluster else None,
    )
