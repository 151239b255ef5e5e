"""Pairs of engines on counters as recorded from two prefill and two decode engines, and broken."""

from collections.abc import Mapping, Sequence

import pytest

from rayspan.adapters.metrics import Scrape, parse_scrape
from rayspan.verify import pair_probes
from rayspan.verify.pair_probes import observe_pairs
from rayspan.verify.pairs import check_pairs, read_round
from rayspan.verify.probes import Answer
from rayspan.verify.reader import Reader
from rayspan.verify.roster import Member, Roster
from rayspan.verify.rounds import Round, round_lengths
from rayspan.verify.target import Target
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import (
    DATA,
    EXACT,
    FINISHED,
    SOURCE,
    Deployment,
    answers,
    colocated_target,
    spec_of,
    split_target,
)

LENGTHS = (18, 19, 21, 25, 33, 49, 81, 145)
BLOCK = 1_474_560  # bytes of 32 tokens
ROSTER = Roster(
    tuple(
        Member(role, name, 1, "head")
        for role, names in (("prefill", ("p0", "p1")), ("decode", ("d0", "d1")))
        for name in names
    )
)
ONE = Roster((ROSTER.members[0], ROSTER.members[2]))
_DEPLOYMENTS = {"p": "Prefill:m", "d": "Decode:m"}


def scraped(values: Mapping[tuple[str, str, str], float]) -> Scrape:
    """(metric, replica, source or nothing) to value."""
    lines = [
        f'ray_serve_starts_total{{deployment="{_DEPLOYMENTS[name[0]]}",replica="{name}"}} 1'
        for name in ("p0", "p1", "d0", "d1")
    ]
    lines += [
        f'{name}{{ReplicaId="{replica}",source="{source}"}} {value}'
        for (name, replica, source), value in values.items()
    ]
    return parse_scrape(["\n".join(lines) + "\n"])


def routed(
    routes: Sequence[tuple[str, str]],
    recomputed: Sequence[tuple[str, str]] = (),
    unread: Sequence[tuple[str, str]] = (),
    given: Sequence[Answer] | None = None,
) -> Round:
    """A round whose probes took these pairs in the order of LENGTHS; those of `recomputed` decode
    computed itself, those of `unread` it read nothing for."""
    counts: dict[tuple[str, str, str], float] = {}

    def add(name: str, replica: str, value: float, source: str = "") -> None:
        counts[name, replica, source] = counts.get((name, replica, source), 0) + value

    for length, (prefill, decode) in zip(LENGTHS, routes, strict=False):
        took = (prefill, decode) not in recomputed
        add(FINISHED, decode, 1)
        add(SOURCE, decode, length, "external_kv_transfer" if took else "local_compute")
        if prefill:
            add(FINISHED, prefill, 1)
            add(SOURCE, prefill, length, "local_compute")
        if took and (prefill, decode) not in unread:
            add(EXACT, decode, -(-length // 32) * BLOCK)
    asked = answers(LENGTHS[: len(routes)]) if given is None else tuple(given)
    return Round(asked, scraped({}), scraped(counts))


ALL = [("p0", "d0"), ("p0", "d1"), ("p1", "d0"), ("p1", "d1")] * 2


def test_a_recorded_round_of_two_by_two_passes() -> None:
    before, after = (
        parse_scrape([(DATA / "pairs-2x2" / f"{name}.txt").read_text()])
        for name in ("before", "after")
    )
    roster = Roster(
        tuple(Member(role, replica, 1, "head") for replica, role in after.roles.items())
    )
    one = Round(answers(LENGTHS), before, after)
    check = check_pairs(split_target(), roster, [one])
    assert check.verdict is Verdict.PASS
    assert (
        check.summary == "tokens and bytes are right for all 4 pairs of prefill and decode engines"
    )
    assert len(read_round(split_target(), one).pairs) == 4


def test_every_pair_of_a_round_passes() -> None:
    assert check_pairs(split_target(), ROSTER, [routed(ALL)]).verdict is Verdict.PASS


def test_one_pair_is_named_as_one() -> None:
    check = check_pairs(split_target(), ONE, [routed([("p0", "d0")] * 8)])
    assert (check.verdict, check.summary) == (
        Verdict.PASS,
        "tokens and bytes are right for the one pair",
    )


@pytest.mark.parametrize("broken", ALL[:4])
def test_a_pair_that_recomputes_is_named(broken: tuple[str, str]) -> None:
    rounds = [routed(ALL, recomputed=[broken]), routed([broken], recomputed=[broken])]
    check = check_pairs(split_target(), ROSTER, rounds)
    assert check.verdict is Verdict.FAIL
    assert f"tokens taken over by {broken[0]} -> {broken[1]}: 0.0, expected" in check.summary


@pytest.mark.parametrize("broken", ALL[:4])
def test_a_pair_that_reads_nothing_is_named(broken: tuple[str, str]) -> None:
    other = next(pair for pair in ALL if pair[1] != broken[1])
    rounds = [routed(ALL, unread=[broken]), routed([broken, other], unread=[broken])]
    check = check_pairs(split_target(), ROSTER, rounds)
    assert check.verdict is Verdict.FAIL
    assert check.summary.startswith(f"bytes moved by {broken[0]} -> {broken[1]}: 0.0, expected")
    assert len([item for item in check.evidence if not item.holds]) == 1


def test_pairs_that_were_not_told_apart_are_all_named() -> None:
    check = check_pairs(split_target(), ROSTER, [routed(ALL, unread=[("p0", "d0")])])
    assert check.verdict is Verdict.FAIL
    assert "bytes moved by p0 -> d0, p1 -> d0" in check.summary


def test_a_pair_that_was_not_seen_leaves_it_open() -> None:
    check = check_pairs(split_target(), ROSTER, [routed(ALL[:3])])
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.summary == "not seen in 3 probes: p1 -> d1"


def test_rounds_add_up() -> None:
    rounds = [routed(ALL[:2]), routed(ALL[2:4])]
    assert check_pairs(split_target(), ROSTER, rounds).verdict is Verdict.PASS


def test_probes_that_skip_prefill_fail() -> None:
    check = check_pairs(split_target(), ROSTER, [routed([("", "d0")])])
    assert check.verdict is Verdict.FAIL
    assert "probes that no prefill engine computed: 1, expected 0" in check.summary


def test_a_probe_without_an_answer_fails() -> None:
    given = [*answers(LENGTHS[:3]), Answer(answers(LENGTHS)[3].probe, error="status 500")]
    check = check_pairs(split_target(), ROSTER, [routed(ALL[:4], given=given)])
    assert check.verdict is Verdict.FAIL
    assert "probes without an answer: 1, expected 0" in check.summary


def test_other_requests_leave_it_open() -> None:
    crowded = routed(ALL)
    check = check_pairs(
        split_target(), ROSTER, [Round(crowded.answers[:4], crowded.before, crowded.after)]
    )
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "other requests ran meanwhile: 8" in check.summary


def test_counts_that_no_probes_add_up_to_leave_it_open() -> None:
    odd = scraped({(FINISHED, "d0", ""): 1, (SOURCE, "d0", "local_compute"): 20})
    check = check_pairs(split_target(), ONE, [Round(answers(LENGTHS), scraped({}), odd)])
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "decode d0 counted 20 prompt tokens" in check.summary


def test_without_the_counter_of_bytes_it_stays_open() -> None:
    blind = routed(ALL, unread=ALL[:4])
    check = check_pairs(split_target(), ROSTER, [blind])
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "lack rayspan's counter" in check.summary


def test_nothing_known_leaves_it_open() -> None:
    assert check_pairs(split_target(), Roster(()), []).verdict is Verdict.INCONCLUSIVE
    unknown = Target(spec_of(), None, "odd")
    assert check_pairs(unknown, ROSTER, [routed(ALL)]).verdict is Verdict.INCONCLUSIVE


def test_colocated_engines_are_skipped() -> None:
    assert check_pairs(colocated_target(), Roster(()), []).verdict is Verdict.SKIP


def test_prompts_fit_the_model() -> None:
    assert round_lengths(17, 2046) == LENGTHS
    assert round_lengths(17, 60) == LENGTHS[:6]


@pytest.mark.parametrize(
    ("routes", "rounds"),
    [([ALL], 1), ([ALL[:3], ALL], 2), ([ALL[:3]] * 99, 24)],
)
def test_probes_are_sent_until_all_pairs_were_seen(
    routes: list[list[tuple[str, str]]], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = iter(routes)
    monkeypatch.setattr(pair_probes, "_one_round", lambda *_: routed(next(script)))
    seen = observe_pairs(Deployment(spec_of()), split_target(), ROSTER, 1, scraped({}))
    assert len(seen) == rounds


def test_pairs_of_a_wrong_engine_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [("p1", "d0")]
    script = iter([ALL, ALL[1:3], ALL[:2]])
    numbers: list[int | None] = []

    def one_round(*given: object) -> Round:
        numbers.append(given[-1])  # type: ignore[arg-type]
        return routed(next(script), unread=broken)

    monkeypatch.setattr(pair_probes, "_one_round", one_round)
    monkeypatch.setattr(Reader, "settled", lambda _: scraped({}))
    rounds = observe_pairs(Deployment(spec_of()), split_target(), ROSTER, 1, scraped({}))
    assert numbers == [None, 2, 2], "few probes once an engine is wrong, until each pair is told"
    check = check_pairs(split_target(), ROSTER, rounds)
    assert [i.where for i in check.evidence if not i.holds] == ["bytes moved by p1 -> d0"]


def test_a_round_asks_and_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    want = routed([("p0", "d0")] * 8)

    def ask(_: str, __: str, probe: object, new_tokens: int) -> Answer:
        asked.append(new_tokens)
        return want.answers[len(asked) - 1]

    monkeypatch.setattr(pair_probes, "ask", ask)
    monkeypatch.setattr("rayspan.verify.reader.scrape", lambda _: want.after)
    (one,) = observe_pairs(Deployment(spec_of()), split_target(), ONE, 1, want.before)
    assert asked == [2] * 8
    assert read_round(split_target(), one).pairs == {("p0", "d0")}
