"""Sends probes until every pair of engines was seen, or it is enough."""

import time

from rayspan.adapters.metrics import Scrape
from rayspan.verify.pairs import RoundVerdict, read_round, unseen, wanted_pairs
from rayspan.verify.probes import ask, make_probes
from rayspan.verify.reader import LAG_S, Reader, all_finished
from rayspan.verify.roster import Roster
from rayspan.verify.rounds import Round, round_lengths
from rayspan.verify.target import Deployed, Target

# Ray's router chooses between two engines by chance: with 4 pairs, 8 probes a round miss one in a
# third of the rounds, and 96 in one of 10^11 runs. Where an engine's numbers are wrong, they are
# asked for again with two probes a round, which tell one pair of four in a third of the rounds.
_ROUNDS_A_PAIR = 6
_SECONDS_A_PAIR = 20.0
_FEW = 2
_SECOND_LOOK_S = 1.5
_NEW_TOKENS = 2
_LONGEST = 1024


def observe_pairs(
    deployed: Deployed, target: Target, roster: Roster, seed: int, before: Scrape
) -> tuple[Round, ...]:
    """Rounds of probes, until each pair was told of or the bound is reached; none when colocated.
    `before`: what the counters were at rest, just now."""
    pairs = len(wanted_pairs(roster))
    if not target.split or target.shape is None or not pairs:
        return ()
    deadline = time.monotonic() + _SECONDS_A_PAIR * pairs
    rounds: list[Round] = []
    read: list[RoundVerdict] = []
    while len(rounds) < _ROUNDS_A_PAIR * pairs and time.monotonic() < deadline:
        if read:
            before = rounds[-1].after if read[-1].holds else Reader(deployed).settled()
        number = _FEW if any(one.fails for one in read) else None
        rounds.append(_one_round(deployed, target, seed + len(rounds) + 1, before, number))
        read.append(read_round(target, rounds[-1]))
        if not unseen(roster, read):
            break
    return tuple(rounds)


def _one_round(
    deployed: Deployed, target: Target, seed: int, before: Scrape, number: int | None
) -> Round:
    shape, read = target.known_shape(), Reader(deployed)
    longest = (target.context or _LONGEST) - _NEW_TOKENS
    lengths = round_lengths(max(target.block_sizes()), longest)[:number]
    probes = make_probes(lengths, shape.vocabulary, seed)
    answers = tuple(
        ask(deployed.api_base, target.spec.model.id, probe, _NEW_TOKENS) for probe in probes
    )
    after = read.until(lambda now: all_finished(before, now, target, len(probes)), LAG_S)
    seen = Round(answers, before, after)
    if read_round(target, seen).holds:
        return seen
    time.sleep(_SECOND_LOOK_S)  # an engine's counters need not arrive all at once
    return Round(answers, before, read.now())
