"""A spec as the configuration of Ray Serve: what `serve run` and `serve deploy` take."""

from dataclasses import dataclass
from typing import Any

import yaml

from rayspan.render.pool_args import pool_args
from rayspan.spec import PrefillDecode, Spec

APP_NAME = "default"
_INGRESS = "rayspan.serving.ingress"


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """A rendered configuration; equal input gives equal bytes."""

    _config: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The configuration as Serve's REST API takes it. Each call gives a fresh copy."""
        copy: dict[str, Any] = yaml.safe_load(self.to_yaml())
        return copy

    def to_yaml(self) -> str:
        """The configuration as text."""
        return yaml.dump(self._config, Dumper=_Plain, sort_keys=False, width=100)


class _Plain(yaml.SafeDumper):
    """Writes equal values out twice rather than as anchor and alias."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def render_serve_config(spec: Spec, model_source: str) -> ServeConfig:
    """`model_source`: the folder or hub id that engines load."""
    pools = {role: pool_args(spec, role, pool, model_source) for role, pool in spec.pools().items()}
    split = isinstance(spec.serving, PrefillDecode)
    args: dict[str, Any] = {f"{role}_config": pool for role, pool in pools.items()} if split else {}
    if not split:
        args["llm_configs"] = list(pools.values())
    ingress = "PrefillDecodeIngress" if split else "Ingress"
    args["ingress_cls_config"] = {"ingress_cls": f"{_INGRESS}:{ingress}"}
    args["ingress_deployment_config"] = {"num_replicas": 1, "ray_actor_options": {"num_cpus": 0}}
    builder = "build_pd_openai_app" if split else "build_openai_app"
    app = {
        "name": APP_NAME,
        "route_prefix": "/",
        "import_path": f"ray.serve.llm:{builder}",
        "args": args,
    }
    http = {"host": spec.target.host, "port": spec.target.port}
    return ServeConfig(
        {"proxy_location": "HeadOnly", "http_options": http, "applications": [app]}
    )
