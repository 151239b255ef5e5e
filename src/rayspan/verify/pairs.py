"""Does every prefill engine hand over to every decode engine, and not only the pool to the pool?"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

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
    """Pairs that a round went over, what was seen of it, and why it could not be told."""

    pairs: frozenset[Pair] = frozenset()
    evidence: tuple[Evidence, ...] = ()
    unclear: str = ""

    @property
    def holds(self) -> bool:
        return not self.unclear and all(item.holds for item in self.evidence)


def check_pairs(target: Target, roster: Roster, rounds: Sequence[Round]) -> Check:
    """A pair that no probe went over leaves the answer open, whatever the others did."""
    if not target.split:
        return skip(NAME, COLOCATED)
    if target.shape is None:
        return inconclusive(NAME, f"the expected numbers are unknown: {target.unknown_shape}")
    read = [read_round(target, one) for one in rounds]
    evidence = [item for one in read for item in one.evidence]
    if not all(item.holds for item in evidence):
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
    for replica in decode:
        own = {pair: lengths for pair, lengths in pairs.items() if pair[1] == replica}
        try:
            evidence += _of_decode(target, one, replica, own)
        except InputError as error:
            return RoundVerdict(frozenset(pairs), tuple(evidence), error.message)
    return RoundVerdict(frozenset(pairs), tuple(evidence))


def _of_decode(
    target: Target, one: Round, replica: str, own: dict[Pair, list[int]]
) -> Iterator[Evidence]:
    """A decode engine's counters, held against all pairs that it is one half of."""
    shape, settings = target.known_shape(), target.cache_settings()
    tokens = {
        pair: sum(handed_tokens(shape, Request(n)) for n in lengths)
        for pair, lengths in own.items()
    }
    took = one.grown(SOURCE, "decode", source="external_kv_transfer").get(replica, 0.0)
    yield _matches("tokens taken over", took, tokens, 0.0)
    if one.after.has(EXACT, "decode"):
        sizes = {
            pair: expect_kv_bytes(shape, settings, [Request(n) for n in lengths]).total
            for pair, lengths in own.items()
        }
        moved = one.grown(EXACT, "decode").get(replica, 0.0)
        yield _matches("bytes moved", moved, sizes, TOLERANCE)


def _matches(what: str, seen: float, wanted: dict[Pair, int], tolerance: float) -> Evidence:
    """Names the pairs that a shortfall is exactly accounted for by; all of them if none are."""
    total = sum(wanted.values())
    holds = abs(seen - total) <= tolerance * total
    blamed = wanted if holds else _blamed(wanted, total - seen, tolerance * total)
    where = f"{what} by {', '.join(_name(pair) for pair in sorted(blamed))}"
    others = sum(wanted[pair] for pair in wanted if pair not in blamed)
    return Evidence(where, seen - others, total - others, holds)


def _blamed(wanted: dict[Pair, int], missing: float, tolerance: float) -> Iterable[Pair]:
    groups = (g for n in range(1, len(wanted)) for g in combinations(sorted(wanted), n))
    fits = [g for g in groups if abs(sum(wanted[p] for p in g) - missing) <= tolerance]
    return fits[0] if len(fits) == 1 else wanted


def _name(pair: Pair) -> str:
    return f"{pair[0]} -> {pair[1]}"


def _counted(number: int) -> str:
    return "the one pair" if number == 1 else f"all {number} pairs of prefill and decode engines"
