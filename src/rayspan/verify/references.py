"""Runs the references for parity, each in a process of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rayspan.adapters.json_job import run_json_job
from rayspan.errors import WorldError
from rayspan.render.engine import engine_arguments, engine_environment
from rayspan.spec import Role, Spec
from rayspan.verify.parity import Continuation, Reference
from rayspan.verify.probes import NEW_TOKENS, Probe
from rayspan.verify.replies import Reply

INDEPENDENT = "transformers in float32"
COLOCATED = "a colocated engine"
_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class References:
    """What the references say of the probes, and the colocated one of `requests`: its replies, or
    why there are none."""

    known: tuple[Reference, ...] = ()
    replies: tuple[Reply, ...] = ()
    problem: str = ""


def run_references(
    spec: Spec,
    model: str,
    probes: Sequence[Probe],
    requests: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> References:
    """A reference that cannot be had says why instead of failing."""
    prompts = [list(p.prompt) for p in probes]
    pools = spec.pools()
    role: Role = "decode" if "decode" in pools else "colocated"
    alone = replace(engine_arguments(spec, role, pools[role]), kv_transfer=None)
    asked = {
        "model": model,
        "prompts": prompts,
        "new_tokens": NEW_TOKENS,
        "engine": alone.to_dict(),
        "name": spec.model.id,
        "requests": list(requests),
    }
    independent = run_independent(model, probes, NEW_TOKENS)
    env = {"HF_HUB_OFFLINE": "1"} | engine_environment(spec)
    own, own_problem = _run("rayspan.verify.colocated_reference", asked, env)
    own = own or {"continuations": [], "replies": []}
    known = (
        independent,
        _reference(COLOCATED, own["continuations"], own_problem),
    )
    return References(known, tuple((s, t) for s, t in own["replies"]), own_problem)


def run_independent(model: str, probes: Sequence[Probe], new_tokens: int) -> Reference:
    """What transformers says, in float32; or why it does not."""
    job = {"model": model, "prompts": [list(p.prompt) for p in probes], "new_tokens": new_tokens}
    result, problem = _run("rayspan.verify.reference", job, {"HF_HUB_OFFLINE": "1"})
    return _reference(INDEPENDENT, result or [], problem)


def _reference(name: str, result: Sequence[Mapping[str, Any]], problem: str) -> Reference:
    found = (Continuation(tuple(r["token_ids"]), tuple(r["gaps"])) for r in result)
    return Reference(name, tuple(found), problem)


def _run(module: str, job: Mapping[str, Any], env: Mapping[str, str]) -> tuple[Any, str]:
    """The job's result, or none and why."""
    try:
        return run_json_job(module, job, _TIMEOUT_S, env), ""
    except WorldError as error:
        return None, error.message
