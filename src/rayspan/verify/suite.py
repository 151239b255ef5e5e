"""All checks of a running deployment, in the order in which their answers make sense."""

import secrets
from dataclasses import replace
from pathlib import Path

from rayspan.verify.bytes import check_bytes
from rayspan.verify.engine_log import log_sizes, read_engine_transports, read_replica_logs
from rayspan.verify.engine_words import check_logs
from rayspan.verify.failures import check_failures
from rayspan.verify.leaks import check_leaks
from rayspan.verify.nccl import check_nccl
from rayspan.verify.observation import observe
from rayspan.verify.pair_probes import observe_pairs
from rayspan.verify.pairs import check_pairs
from rayspan.verify.parity import check_parity
from rayspan.verify.probes import Probe, choose_lengths, make_probes
from rayspan.verify.reader import Reader
from rayspan.verify.references import run_references
from rayspan.verify.roster import read_roster
from rayspan.verify.series import check_metrics
from rayspan.verify.split import check_split
from rayspan.verify.surface import check_surface
from rayspan.verify.surface_cases import surface_cases
from rayspan.verify.surface_probes import ask_surface, reference_requests
from rayspan.verify.target import Deployed, Target, read_target
from rayspan.verify.transport import check_transport
from rayspan.verify.verdict import Check, Report
from rayspan.verify.wire import check_wire, record_wire

_UNKNOWN_VOCABULARY = 1000
_SEED_BITS = 32


def run_verify(deployed: Deployed, seed: int | None = None, record: Path | None = None) -> Report:
    """Every check. Takes a minute or two: two references run, and the KV caches are left to drain.

    `record`: a folder for the counter files that the wire check was judged by.
    """
    target, seed = read_target(deployed), _seed(seed)
    roster, began = read_roster(deployed), log_sizes(deployed.log_folders)
    probes, cases = _probes(target, seed), surface_cases(target)
    seen = observe(deployed, target, probes, drain=True, roster=roster)
    if record:
        record_wire(target, seen, record)
    rounds = observe_pairs(deployed, target, roster, seed, seen.drained)
    logs = read_replica_logs(deployed.log_folders, began)
    requests = reference_requests(target, cases)
    own = run_references(target.spec, deployed.model_folder, probes, requests)
    asked = ask_surface(deployed, cases, own.replies)
    last = Reader(deployed).settled()
    checks = (
        check_split(target, seen),
        check_bytes(target, seen),
        check_wire(target, seen),
        check_pairs(target, roster, rounds),
        _transport(deployed, target),
        check_nccl(target, len(deployed.nodes), logs),
        check_logs(target, roster, logs),
        check_metrics(target, roster, seen, last),
        check_parity(target, seen.answers, own.known),
        check_surface(target, asked, own.problem, roster, read_roster(deployed)),
        check_failures(target, replace(seen, drained=last)),
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


def verify_wire(deployed: Deployed, seed: int | None = None) -> Report:
    """Split, bytes and wire over the same probes, which mean something only together."""
    target, seed = read_target(deployed), _seed(seed)
    probes = _probes(target, seed)
    seen = observe(deployed, target, probes, drain=False, roster=read_roster(deployed))
    checks = (check_split(target, seen), check_bytes(target, seen), check_wire(target, seen))
    return Report(checks, seed)


def _probes(target: Target, seed: int) -> tuple[Probe, ...]:
    lengths = choose_lengths(target.block_sizes(), target.step_tokens(), target.context)
    return make_probes(lengths, _vocabulary(target), seed)


def _transport(deployed: Deployed, target: Target) -> Check:
    return check_transport(target, read_engine_transports(deployed.log_folders))


def _vocabulary(target: Target) -> int:
    return target.shape.vocabulary if target.shape else _UNKNOWN_VOCABULARY


def _seed(seed: int | None) -> int:
    return secrets.randbits(_SEED_BITS) if seed is None else seed
