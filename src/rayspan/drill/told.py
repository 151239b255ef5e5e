"""What a client's answer amounts to. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from rayspan.drill.crowd import Got
from rayspan.verify.parity import Continuation, first_difference
from rayspan.verify.replies import read_reply

_OK = 200
_LONGEST = 100


class Kind(StrEnum):
    """`error` is an answer that says it is none; `empty` and `cut off` leave it to the client."""

    RIGHT = "right"
    WRONG = "wrong"
    ERROR = "error"
    EMPTY = "empty"
    CUT_OFF = "cut off"
    HUNG = "hung"


@dataclass(frozen=True, slots=True)
class Told:
    """`tokens_wrong`: those that differ from the reference's where it was sure."""

    kind: Kind
    words: str = ""
    tokens_wrong: int = 0


def classify(got: Got, own: Continuation | None, near: float, patience_s: float) -> Told:
    """`own`: what the reference says, needed only where there are tokens; `near`: the lead, in
    nats, under which the formats' rounding may choose another token."""
    if not got.status:
        hung = got.seconds >= patience_s
        return Told(Kind.HUNG if hung else Kind.CUT_OFF, got.text[:_LONGEST])
    told = read_reply((got.status, got.text))
    if got.status != _OK or "error in it" in told.broken:
        return Told(Kind.ERROR, (told.refused or told.broken)[:_LONGEST])
    choice = told.choices.get(0)
    if told.broken or choice is None:
        return Told(Kind.EMPTY, told.broken[:_LONGEST] or "200 and no answer")
    if choice.said.get("finish_reason") not in ("length", "stop"):
        return Told(Kind.ERROR, f"200 with finish_reason {choice.said.get('finish_reason')}")
    if own is None:
        raise ValueError("an answer with tokens needs a reference")
    return _compare(choice.token_ids, own, near, got.new_tokens)


def _compare(given: list[int], own: Continuation, near: float, wanted: int) -> Told:
    right = list(own.token_ids[:wanted])
    if given == right:
        return Told(Kind.RIGHT)
    at = first_difference(given, right)
    lead = own.gaps[at] if at < min(len(given), len(right)) else float("inf")
    if lead < near:
        return Told(Kind.RIGHT, f"a near-tie at token {at}, {lead:.3g} nats")
    wrong = max(len(given), len(right)) - at
    return Told(Kind.WRONG, f"{given} instead of {right}"[:_LONGEST], wrong)
