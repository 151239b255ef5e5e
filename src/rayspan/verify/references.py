"""Runs the references for parity, each in a process of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rayspan.adapters.json_job import run_json_job
from rayspan.errors import WorldError
from rayspan.render.engine import engine_arguments, engine_environment
from rayspan.spec import Role, Spec
from rayspan.verify.parity import Continuation, Reference
from rayspan.verify.probes import NEW_TOKENS, Probe

INDEPENDENT = "transformers in float32"
COLOCATED = "a colocated engine"
_TIMEOUT_S = 600.0


def run_references(spec: Spec, model: str, probes: Sequence[Probe]) -> tuple[Reference, ...]:
    """A reference that cannot be had says why instead of failing."""
    job = {"model": model, "prompts": [list(p.prompt) for p in probes], "new_tokens": NEW_TOKENS}
    pools = spec.pools()
    role: Role = "decode" if "decode" in pools else "colocated"
    alone = replace(engine_arguments(spec, role, pools[role]), kv_transfer=None)
    env = {"HF_HUB_OFFLINE": "1"}
    return (
        _run(INDEPENDENT, "rayspan.verify.reference", job, env),
        _run(
            COLOCATED,
            "rayspan.verify.colocated_reference",
            job | {"engine": alone.to_dict()},
            env | engine_environment(spec),
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
