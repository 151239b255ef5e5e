"""Does the endpoint answer each kind of request as one engine's own server does, or refuse it?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rayspan.verify.parity import NEAR_TIE_NATS
from rayspan.verify.replies import Choice, Reply, Told, read_reply
from rayspan.verify.roster import Roster
from rayspan.verify.surface_cases import Case
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, equal, inconclusive, judge

NAME = "surface"
_LOGPROB_NATS = 0.01  # between two engines of one kind, in float32


@dataclass(frozen=True, slots=True)
class Asked:
    """A case, what the deployment said, what the reference said, and how sure that one was, where
    it was asked."""

    case: Case
    reply: Reply
    reference: Reply
    leads: Reply | None = None


def check_surface(
    target: Target, asked: Sequence[Asked], problem: str, before: Roster, after: Roster
) -> Check:
    """`problem`: why there is no reference. The same engines must run before and after."""
    near = NEAR_TIE_NATS[target.dtype]
    evidence = [
        equal(f"{member} still runs", member in after.members, True) for member in before.members
    ]
    evidence += [_compare(one, near) for one in asked]
    if not all(item.holds for item in evidence):
        return judge(NAME, "", evidence)
    if problem or not asked:
        return inconclusive(NAME, f"no reference: {problem}", evidence)
    refused = sum(bool(read_reply(one.reply).refused) for one in asked)
    summary = (
        f"{len(asked) - refused} kinds of request answered as by one engine, {refused} refused"
    )
    return judge(NAME, summary, evidence)


def _compare(one: Asked, near: float) -> Evidence:
    given, wanted = read_reply(one.reply), read_reply(one.reference)
    expected = wanted.refused or wanted.broken or "the reference's answer"
    if given.broken:
        return Evidence(one.case.name, given.broken, expected, holds=False)
    if given.refused:
        holds = one.case.may_refuse or bool(wanted.refused)
        return Evidence(one.case.name, f"refused: {given.refused}", expected, holds)
    if wanted.refused or wanted.broken:
        return Evidence(one.case.name, "an answer", expected, holds=False)
    leads = read_reply(one.leads) if one.leads else Told({})
    for where, seen, expected in _differences(given, wanted, leads, near):
        return Evidence(f"{one.case.name}, {where}", seen, expected, holds=False)
    return Evidence(one.case.name, "an answer", "the reference's answer", holds=True)


def _differences(
    given: Told, wanted: Told, leads: Told, near: float
) -> Iterator[tuple[str, str, str]]:
    """Where, what was said, what had to be."""
    if given.choices.keys() != wanted.choices.keys():
        yield "number of answers", str(len(given.choices)), str(len(wanted.choices))
        return
    excused = False
    for index, own in wanted.choices.items():
        other = given.choices[index]
        sure = leads.choices.get(index, Choice()).leads
        if other.token_ids != own.token_ids and _is_near_tie(other, own, sure, near):
            excused = True
            continue
        yield from _differs(other, own, near)
    if given.usage != wanted.usage and not excused:
        yield "prompt and answer tokens", str(given.usage), str(wanted.usage)


def _differs(other: Choice, own: Choice, near: float) -> Iterator[tuple[str, str, str]]:
    for key in sorted(own.said.keys() | other.said.keys()):
        if own.said.get(key) != other.said.get(key):
            yield key, repr(other.said.get(key)), repr(own.said.get(key))
    if other.token_ids != own.token_ids:
        yield "token ids", str(other.token_ids), str(own.token_ids)
    pairs = zip(other.logprobs, own.logprobs, strict=False)
    apart = max((abs(a - b) for a, b in pairs), default=0.0)
    if len(other.logprobs) != len(own.logprobs) or apart > max(near, _LOGPROB_NATS):
        yield "logprobs", str(other.logprobs), str(own.logprobs)


def _is_near_tie(other: Choice, own: Choice, sure: Sequence[float], near: float) -> bool:
    both = zip(other.token_ids, own.token_ids, strict=False)
    at = next((i for i, (a, b) in enumerate(both) if a != b), None)
    return at is not None and at < len(sure) and sure[at] < near
