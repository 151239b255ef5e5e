"""Which engines answered which probes, told from each engine's own counters.

The router picks the engines and tells nobody. So the prompts of a round differ in length by
distinct powers of two: the number of prompt tokens an engine counted, and the number of requests,
say which of them it had.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rayspan.adapters.metrics import Scrape
from rayspan.facts.shape import ModelShape
from rayspan.plan.kv_bytes import Request, handed_tokens
from rayspan.verify.probes import Answer
from rayspan.verify.reader import FINISHED
from rayspan.verify.split import SOURCE

_BITS = 8


def round_lengths(block: int, longest: int) -> tuple[int, ...]:
    """Tokens of each prompt of a round, every one more than a block; fewer than eight prompts where
    `longest` forbids them."""
    lengths = tuple(block + 2**bit for bit in range(_BITS))
    return tuple(length for length in lengths if length <= longest)


@dataclass(frozen=True, slots=True)
class Round:
    """Probes of distinct lengths, and the counters before and after."""

    answers: tuple[Answer, ...]
    before: Scrape
    after: Scrape

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(len(answer.probe.prompt) for answer in self.answers)

    def grown(self, name: str, role: str, **labels: str) -> dict[str, float]:
        """By how much a counter grew, by replica; those at rest are left out."""
        start = self.before.by_replica(name, role, **labels)
        ended = self.after.by_replica(name, role, **labels)
        growth = {replica: value - start.get(replica, 0.0) for replica, value in ended.items()}
        return {replica: value for replica, value in growth.items() if value}

    def handled(self, shape: ModelShape, role: str) -> dict[str, tuple[int, ...]] | str:
        """Prompt lengths by replica, or why they cannot be told.

        Tokens of every source count: an engine that computes what it should have taken over is
        still the one that answered.
        """
        sizes = {self._counted(shape, role, length): length for length in self.lengths}
        requests, tokens = self.grown(FINISHED, role), self.grown(SOURCE, role)
        if sum(requests.values()) > len(self.answers):
            return f"other requests ran meanwhile: {sum(requests.values()):.0f} on {role}"
        found = {}
        for replica, number in requests.items():
            had = _subset(tuple(sizes), round(number), tokens.get(replica, 0.0))
            if had is None:
                return f"{role} {replica} counted {tokens.get(replica, 0.0):.0f} prompt tokens"
            found[replica] = tuple(sizes[size] for size in had)
        return found

    @staticmethod
    def _counted(shape: ModelShape, role: str, length: int) -> int:
        return handed_tokens(shape, Request(length)) if role == "prefill" else length


def _subset(sizes: Sequence[int], number: int, total: float) -> tuple[int, ...] | None:
    """The `number` sizes that add up to `total`: each is one base and one power of two."""
    base = sizes[0] - 1
    bits = total - number * base
    if bits < 0 or bits != int(bits):
        return None
    had = tuple(size for size in sizes if int(bits) & (size - base))
    return had if len(had) == number and sum(had) == total else None


def pair_up(
    prefill: Mapping[str, Sequence[int]], decode: Mapping[str, Sequence[int]]
) -> dict[tuple[str, str], list[int]]:
    """Prompt lengths by pair of prefill and decode replica."""
    from_prefill = {length: replica for replica, had in prefill.items() for length in had}
    pairs: dict[tuple[str, str], list[int]] = {}
    for replica, had in decode.items():
        for length in had:
            if length in from_prefill:
                pairs.setdefault((from_prefill[length], replica), []).append(length)
    return pairs
