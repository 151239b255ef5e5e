"""When a drill fails, stays open, or passes."""

from dataclasses import replace

import pytest

from rayspan.drill import DRILLS
from rayspan.drill.result import Seen, judge_drill
from rayspan.drill.run import _lost, _replaced, run_drills
from rayspan.drill.told import Kind, Told
from rayspan.lab.layout import LabOptions
from rayspan.lab.state import Lab
from rayspan.spec import builtin_spec
from rayspan.verify import Check, Evidence, Verdict
from rayspan.verify.roster import Member, Roster
from tests.unit.verify.recorded import Deployment, colocated_target

FINE = Seen(
    told=[Told(Kind.RIGHT), Told(Kind.ERROR, "500 no luck"), Told(Kind.CUT_OFF, "reset")],
    effect=[Evidence("clients waiting", 4, "at least 1", holds=True)],
    recover_s=12.0,
    kv_held={"a": 0.0},
    restarted=("prefill a on head",),
    lost=(),
    checks=(Check("leaks", Verdict.PASS, "none"),),
)


def test_errors_that_say_so_and_a_recovery_pass() -> None:
    result = judge_drill("d", FINE)
    assert result.verdict is Verdict.PASS
    assert result.clients == {"cut off": 1, "error": 1, "right": 1}
    assert result.errors == {"500 no luck": 1, "reset": 1}
    assert (result.recover_s, result.restarted) == (12.0, ("prefill a on head",))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"told": [Told(Kind.WRONG, "[1] instead of [2]", 1)]}, "1 wrong"),
        ({"told": [Told(Kind.EMPTY)]}, "1 empty"),
        ({"told": [Told(Kind.HUNG)]}, "1 hung"),
        ({"recover_s": None}, "did not recover"),
        ({"lost": ("decode b on head",)}, "decode b on head was replaced"),
        ({"checks": (Check("leaks", Verdict.FAIL, "KV held"),)}, "leaks: KV held"),
    ],
)
def test_what_no_fault_excuses_fails(change: dict[str, object], words: str) -> None:
    result = judge_drill("d", replace(FINE, **change))  # type: ignore[arg-type]
    assert result.verdict is Verdict.FAIL
    assert words in result.summary


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"effect": [Evidence("clients waiting", 0, "at least 1", holds=False)]}, "waiting: 0"),
        ({"checks": (Check("split", Verdict.INCONCLUSIVE, "not taken over"),)}, "not taken over"),
        ({"problem": "no decode engine runs"}, "no decode engine runs"),
    ],
)
def test_what_was_not_seen_is_no_pass(change: dict[str, object], words: str) -> None:
    result = judge_drill("d", replace(FINE, **change))  # type: ignore[arg-type]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert words in result.summary


def test_a_replica_more_than_the_fault_takes_is_lost() -> None:
    before = Roster(
        (Member("prefill", "p0", 1, "head"), Member("prefill", "p1", 2, "head")),
    )
    idle = next(drill for drill in DRILLS if drill.name == "kill-prefill-idle")
    one, both = Roster(before.members[:1]), Roster(())
    assert _lost(idle, _replaced(before, one)) == ()
    assert _lost(idle, _replaced(before, both)) == ("prefill p0 on head", "prefill p1 on head")
    harmless = next(drill for drill in DRILLS if drill.name == "slow-client")
    assert _lost(harmless, _replaced(before, one)) == ("prefill p1 on head",)
    head = next(drill for drill in DRILLS if drill.name == "kill-head")
    assert _lost(head, _replaced(before, both)) == ()


def test_drills_say_what_they_need() -> None:
    spec, alone = builtin_spec(), colocated_target().spec
    lab = Lab(LabOptions(), spec)
    plain = Lab(LabOptions(isolation="none"), spec)
    for drill in DRILLS:
        assert drill.why_not(spec, lab) == ""
        assert bool(drill.why_not(spec, plain)) == drill.hosts
        assert bool(drill.why_not(spec, None)) == drill.hosts
        assert bool(drill.why_not(alone, lab)) == drill.split
    assert len({drill.name for drill in DRILLS}) == len(DRILLS) == 14


def test_what_cannot_be_played_is_skipped() -> None:
    needy = [drill for drill in DRILLS if drill.hosts]
    results = run_drills(Deployment(builtin_spec()), None, needy, print)  # type: ignore[arg-type]
    assert {result.verdict for result in results} == {Verdict.SKIP}
