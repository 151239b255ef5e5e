"""All checks of a running deployment, in the order in which their answers make sense."""

import secrets

from rayspan.verify.bytes import check_bytes
from rayspan.verify.engine_log import read_engine_transports
from rayspan.verify.failures import check_failures
from rayspan.verify.leaks import check_leaks
from rayspan.verify.observation import observe
from rayspan.verify.parity import check_parity
from rayspan.verify.probes import Probe, choose_lengths, make_probes
from rayspan.verify.references import run_references
from rayspan.verify.split import check_split
from rayspan.verify.target import Deployed, Target, read_target
from rayspan.verify.transport import check_transport
from rayspan.verify.verdict import Check, Report

_UNKNOWN_VOCABULARY = 1000
_SEED_BITS = 32


def run_verify(deployed: Deployed, seed: int | None = None) -> Report:
    """Every check. Takes a minute: two references run, and the KV caches are left to drain."""
    target, seed = read_target(deployed), _seed(seed)
    model = target.spec.model
    context = model.max_model_len or (target.shape.context if target.shape else None)
    lengths = choose_lengths(target.block_sizes(), target.step_tokens(), context)
    probes = make_probes(lengths, _vocabulary(target), seed)
    seen = observe(deployed, target, probes, drain=True)
    references = run_references(target.spec, deployed.model_folder, probes)
    checks = (
        check_split(target, seen),
        check_bytes(target, seen),
        _transport(deployed, target),
        check_parity(target, seen.answers, references),
        check_failures(target, seen),
        check_leaks(target, seen),
    )
    return Report(checks, seed)


def quick_verify(deployed: Deployed, seed: int | None = None) -> Report:
    """The checks that need a few seconds: two prompts, no references, no drain."""
    target, seed = read_target(deployed), _seed(seed)
    block = max(target.block_sizes())
    probes: tuple[Probe, ...] = make_probes([block + 1, block * 2], _vocabulary(target), seed)
    seen = observe(deployed, target, probes, drain=False)
    checks = (
        check_split(target, seen),
        check_bytes(target, seen),
        _transport(deployed, target),
        check_failures(target, seen),
    )
    return Report(checks, seed)


def _transport(deployed: Deployed, target: Target) -> Check:
    return check_transport(target, read_engine_transports(deployed.log_folders))


def _vocabulary(target: Target) -> int:
    return target.shape.vocabulary if target.shape else _UNKNOWN_VOCABULARY


def _seed(seed: int | None) -> int:
    return secrets.randbits(_SEED_BITS) if seed is None else seed
