"""What must hold once a fault is over: the checks that need few probes and one reference."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rayspan.verify.bytes import check_bytes
from rayspan.verify.failures import check_failures
from rayspan.verify.leaks import check_leaks
from rayspan.verify.observation import observe
from rayspan.verify.parity import check_parity
from rayspan.verify.probes import NEW_TOKENS, make_probes
from rayspan.verify.references import run_independent
from rayspan.verify.split import check_split
from rayspan.verify.target import Deployed, Target
from rayspan.verify.verdict import Check


@dataclass(frozen=True, slots=True)
class After:
    """`kv_held`: share of the KV cache held at rest, by replica."""

    checks: tuple[Check, ...] = ()
    kv_held: Mapping[str, float] = field(default_factory=dict)


def look_after(deployed: Deployed, target: Target, seed: int) -> After:
    """Nothing fails any more, answers are right, and no KV cache is held when its lease is over."""
    block = max(target.block_sizes())
    lengths = [block - 1, block + 1, block * 3]
    probes = make_probes(lengths, target.known_shape().vocabulary, seed)
    seen = observe(deployed, target, probes, drain=True)
    reference = run_independent(deployed.model_folder, probes, NEW_TOKENS)
    checks = (
        check_split(target, seen),
        check_bytes(target, seen),
        check_parity(target, seen.answers, [reference]),
        check_failures(target, seen),
        check_leaks(target, seen),
    )
    return After(checks, seen.kv_held)
