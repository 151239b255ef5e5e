"""Does every prefill engine hand over to every decode engine, and not only the pool to the pool?"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from rayspan.errors import InputError
from rayspan.plan.kv_bytes import Request, expect_kv_bytes, handed_tokens
from rayspan.verify.bytes import EXACT, TOLERANCE
from rayspan.verify.roster import Roster
from rayspan.verify.rounds import Round, pair_up
from rayspan.verify.split import COLOCATED, SOURCE
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, equal, inconclusive, judge, skip

NAME = "pairs"
Pair = tuple[str, str]  # prefill and decode replica


@dataclass(frozen=True, slots=True)
class RoundVerdict:
    """What a round says, and why it could not be told. `pairs`: those that it says something of.
    `shared`: numbers that are wrong and belong to one of several pairs."""

    pairs: frozenset[Pair] = frozenset()
    evidence: tuple[Evidence, ...] = ()
    shared: tuple[Evidence, ...] = ()
    unclear: str = ""

    @property
    def fails(self) -> bool:
        return bool(self.shared) or not all(item.holds for item in self.evidence)

    @property
    def holds(self) -> bool:
        return not self.unclear and not self.fails


def check_pairs(target: Target, roster: Roster, rounds: Sequence[Round]) -> Check:
    """A pair that no probe went over leaves the answer open, whatever the others did."""
    if not target.split:
        return skip(NAME, COLOCATED)
    if target.shape is None:
        return inconclusive(NAME, f"the expected numbers are unknown: {target.unknown_shape}")
    read = [read_round(target, one) for one in rounds]
    evidence = [item for one in read for item in one.evidence]
    if any(one.fails for one in read):
        if all(item.holds for item in evidence):
            evidence += [item for one in read for item in one.shared]
        return judge(NAME, "", evidence)
    missing = unseen(roster, read)
    if missing or not read:
        unclear = next((one.unclear for one in reversed(read) if one.unclear), "")
        named = ", ".join(_name(pair) for pair in sorted(missing)) or "no pair is known"
        reason = f"not seen in {sum(len(one.answers) for one in rounds)} probes: {named}"
        return inconclusive(NAME, f"{reason}{'; ' if unclear else ''}{unclear}", evidence)
    if not any(one.after.has(EXACT, "decode") for one in rounds):
        return inconclusive(NAME, "the engines lack rayspan's counter of bytes", evidence)
    number = len(wanted_pairs(roster))
    return judge(NAME, f"tokens and bytes are right for {_counted(number)}", evidence)


def wanted_pairs(roster: Roster) -> frozenset[Pair]:
    prefill, decode = ([m.replica for m in roster.of(role)] for role in ("prefill", "decode"))
    return frozenset(product(prefill, decode))


def unseen(roster: Roster, read: Iterable[RoundVerdict]) -> frozenset[Pair]:
    return wanted_pairs(roster).difference(*(one.pairs for one in read))


def read_round(target: Target, one: Round) -> RoundVerdict:
    """What one round says of the pairs it went over."""
    shape = target.known_shape()
    prefill, decode = one.handled(shape, "prefill"), one.handled(shape, "decode")
    if isinstance(prefill, str) or isinstance(decode, str):
        reasons = [reason for reason in (prefill, decode) if isinstance(reason, str)]
        return RoundVerdict(unclear="; ".join(reasons))
    pairs = pair_up(prefill, decode)
    evidence = [equal("probes without an answer", sum(bool(a.error) for a in one.answers), 0)]
    alone = set().union(*decode.values()) - set().union(*prefill.values())
    evidence.append(equal("probes that no prefill engine computed", len(alone), 0))
    told, shared = set[Pair](), list[Evidence]()
    for replica in decode:
        own = {pair: lengths for pair, lengths in pairs.items() if pair[1] == replica}
        try:
            seen = list(_of_decode(target, one, replica, own))
        except InputError as error:
            return RoundVerdict(frozenset(told), tuple(evidence), tuple(shared), error.message)
        if len(own) == 1 or all(item.holds for item in seen):
            told.update(own)
            evidence += seen
        else:
            shared += [item for item in seen if not item.holds]
    return RoundVerdict(frozenset(told), tuple(evidence), tuple(shared))


def _of_decode(
    target: Target, one: Round, replica: str, own: dict[Pair, list[int]]
) -> Iterator[Evidence]:
    """A decode engine's counters, held against all pairs that it is one half of."""
    shape, settings = target.known_shape(), target.cache_settings()
    requests = [Request(length) for lengths in own.values() for length in lengths]
    named = ", ".join(_name(pair) for pair in sorted(own))
    took = one.grown(SOURCE, "decode", source="external_kv_transfer").get(replica, 0.0)
    yield equal(
        f"tokens taken over by {named}", took, sum(handed_tokens(shape, r) for r in requests)
    )
    if one.after.has(EXACT, "decode"):
        wanted = expect_kv_bytes(shape, settings, requests).total
        moved = one.grown(EXACT, "decode").get(replica, 0.0)
        holds = abs(moved - wanted) <= TOLERANCE * wanted
        yield Evidence(f"bytes moved by {named}", moved, wanted, holds)


def _name(pair: Pair) -> str:
    return f"{pair[0]} -> {pair[1]}"


def _counted(number: int) -> str:
    return "the one pair" if number == 1 else f"all {number} pairs of prefill and decode engines"
