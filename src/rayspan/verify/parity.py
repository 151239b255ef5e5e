"""Are the answers those of independent implementations, token for token?

Prefill/decode and colocated engines share their kernels, and can be wrong together. So there are
two references: transformers in float32, which shares nothing with the engine, and a colocated
engine with the same settings, which shares everything but the hand-over.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rayspan.verify.probes import Answer
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, inconclusive, judge

NAME = "parity"

# Between the two likeliest tokens, in nats: under this the formats' rounding may choose either.
# float32 must agree always.
NEAR_TIE_NATS = {"float32": 0.0, "float16": 0.05, "bfloat16": 0.25}
_LEAST_EXACT = 0.5  # share of answers that must agree to the end even where near-ties are excused


@dataclass(frozen=True, slots=True)
class Continuation:
    """One greedy continuation; `gaps`: lead of each token over the second likeliest, in nats."""

    token_ids: tuple[int, ...]
    gaps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """Continuations in the order of the probes, or why there are none."""

    name: str
    continuations: tuple[Continuation, ...] = ()
    problem: str = ""


def check_parity(
    target: Target, answers: Sequence[Answer], references: Sequence[Reference]
) -> Check:
    """Fails on any answer that differs where the reference was sure."""
    given = [answer for answer in answers if not answer.error]
    if not given:
        return inconclusive(NAME, "no probe was answered")
    near = NEAR_TIE_NATS[target.dtype]
    evidence = [item for known in references for item in _against(known, answers, near)]
    missing = next((known for known in references if known.problem), None)
    if missing and all(item.holds for item in evidence):
        return inconclusive(NAME, f"no {missing.name}: {missing.problem}", evidence)
    lengths = sorted({len(answer.probe.prompt) for answer in given})
    summary = f"answers to prompts of {', '.join(map(str, lengths))} tokens equal " + " and ".join(
        known.name for known in references
    )
    if excused := sum(item.holds and item.observed != item.expected for item in evidence):
        summary += (
            f", save {excused} near-ties (lead under {near} nats, which {target.dtype} may turn)"
        )
    return judge(NAME, summary, evidence)


def _against(known: Reference, answers: Sequence[Answer], near: float) -> list[Evidence]:
    """One piece of evidence per answer, and one more when near-ties would excuse too many."""
    if known.problem:
        return []
    compared = [
        _compare(known.name, answer, own, near)
        for answer, own in zip(answers, known.continuations, strict=True)
        if not answer.error
    ]
    exact = sum(item.observed == item.expected for item in compared)
    if exact < len(compared) * _LEAST_EXACT:
        where = f"answers equal to {known.name} to the end"
        compared.append(Evidence(where, exact, f"at least half of {len(compared)}", holds=False))
    return compared


def _compare(name: str, answer: Answer, own: Continuation, near: float) -> Evidence:
    where = f"{len(answer.probe.prompt)}-token prompt against {name}"
    observed, expected = _text(answer.token_ids), _text(own.token_ids)
    if answer.token_ids == own.token_ids:
        return Evidence(where, observed, expected, holds=True)
    at = first_difference(answer.token_ids, own.token_ids)
    lead = own.gaps[at] if at < len(own.gaps) else float("inf")
    where += f", differing at token {at}, where the reference led by {lead:.3g} nats"
    return Evidence(where, observed, expected, holds=lead < near)


def first_difference(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


def _text(token_ids: Sequence[int]) -> str:
    return " ".join(map(str, token_ids))
