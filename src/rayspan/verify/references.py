"""Runs the references for parity, each in a process of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from rayspan.adapters.json_job import run_json_job
from rayspan.errors import WorldError
from rayspan.render.pool_args import pool_args
from rayspan.spec import Role, Spec
from rayspan.verify.parity import Continuation, Reference
from rayspan.verify.probes import NEW_TOKENS, Probe

INDEPENDENT = "transformers in float32"
COLOCATED = "a colocated engine"
_TIMEOUT_S = 600.0
_NOT_OF_ONE_ENGINE = {"kv_transfer_config", "distributed_executor_backend"}


def run_references(spec: Spec, model: str, probes: Sequence[Probe]) -> tuple[Reference, ...]:
    """A reference that cannot be had says why instead of failing."""
    job = {"model": model, "prompts": [list(p.prompt) for p in probes], "new_tokens": NEW_TOKENS}
    pools = spec.pools()
    role: Role = "decode" if "decode" in pools else "colocated"
    args = pool_args(spec, role, pools[role], model)
    engine = {k: v for k, v in args["engine_kwargs"].items() if k not in _NOT_OF_ONE_ENGINE}
    env = {"HF_HUB_OFFLINE": "1"}
    return (
        _run(INDEPENDENT, "rayspan.verify.reference", job, env),
        _run(
            COLOCATED,
            "rayspan.verify.colocated_reference",
            job | {"engine": engine},
            env | args.get("runtime_env", {}).get("env_vars", {}),
        ),
    )


def _run(name: str, module: str, job: Mapping[str, Any], env: Mapping[str, str]) -> Reference:
    try:
        result = run_json_job(module, job, _TIMEOUT_S, env)
    except WorldError as error:
        return Reference(name, problem=error.message)
    return Reference(
        name, tuple(Continuation(tuple(r["token_ids"]), tuple(r["gaps"])) for r in result)
    )
