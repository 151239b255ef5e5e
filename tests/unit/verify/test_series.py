"""The metrics check: what is missing, and what is only idle."""

from rayspan.verify.observation import Observation
from rayspan.verify.roster import Roster
from rayspan.verify.series import check_metrics
from rayspan.verify.verdict import Check, Verdict
from tests.unit.verify.recorded import (
    FINISHED,
    ROSTER,
    SOUND,
    Counts,
    colocated_target,
    observed,
    scrape_of,
    split_target,
)

BOTH = observed(SOUND, gauged=("p0", "d0"))


def check(seen: Observation = BOTH, counts: Counts = SOUND) -> Check:
    return check_metrics(split_target(), ROSTER, seen, scrape_of(counts))


def test_all_series_of_all_engines_pass() -> None:
    assert (check().verdict, len(check().evidence)) == (Verdict.PASS, 3)


def test_decode_without_nixl_series_fails() -> None:
    found = check(counts={(FINISHED, "prefill"): 5, (FINISHED, "decode"): 5})
    assert found.verdict is Verdict.FAIL
    assert found.summary == "ray_vllm_nixl_* of decode d0 on worker-2: missing, expected there"


def test_an_engine_that_told_other_gauges_fails() -> None:
    found = check(observed(SOUND, gauged=("d0",)))
    assert found.verdict is Verdict.FAIL
    assert found.summary == (
        "ray_vllm_num_requests_running of prefill p0 on worker-1: missing, expected there"
    )


def test_an_engine_that_told_no_gauge_may_be_idle() -> None:
    found = check(observed(SOUND, held={"d0": 0.0}, gauged=("d0",)))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.summary == "prefill p0 on worker-1 told no gauge"


def test_decode_that_answered_nothing_is_open() -> None:
    found = check(counts={(FINISHED, "prefill"): 5})
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "decode d0 on worker-2 answered nothing" in found.summary


def test_no_engine_known_is_inconclusive() -> None:
    found = check_metrics(split_target(), Roster(()), BOTH, scrape_of(SOUND))
    assert found.verdict is Verdict.INCONCLUSIVE


def test_colocated_engines_need_no_nixl() -> None:
    alone = Roster(tuple(m for m in ROSTER.members if m.role == "prefill"))
    assert check_metrics(colocated_target(), alone, BOTH, scrape_of(SOUND)).verdict is Verdict.PASS
