"""The leaks check on what engines hold at rest."""

import pytest

from rayspan.verify.leaks import check_leaks
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import SOUND, colocated_target, observed, split_target


def test_engines_at_zero_pass() -> None:
    check = check_leaks(split_target(), observed(SOUND))
    assert (check.verdict, len(check.evidence)) == (Verdict.PASS, 2)


@pytest.mark.parametrize("leaking", ["p0", "d0"])
def test_one_block_held_in_either_pool_fails(leaking: str) -> None:
    held = {"p0": 0.0, "d0": 0.0} | {leaking: 0.0055}
    check = check_leaks(split_target(), observed(SOUND, held=held))
    assert check.verdict is Verdict.FAIL
    assert f"{leaking}: 0.0055, expected 0.0" in check.summary


def test_an_engine_that_told_nothing_is_inconclusive() -> None:
    check = check_leaks(split_target(), observed(SOUND, held={"d0": 0.0}))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.summary == "0 of 1 prefill engines told how much KV they hold"


def test_other_requests_make_it_inconclusive() -> None:
    held = {"p0": 0.3, "d0": 0.3}
    seen = observed(SOUND, held=held, others=2.0)
    assert check_leaks(split_target(), seen).verdict is Verdict.INCONCLUSIVE


def test_no_answer_is_inconclusive() -> None:
    assert check_leaks(split_target(), observed({}, given=())).verdict is Verdict.INCONCLUSIVE


def test_colocated_engines_are_looked_at_too() -> None:
    held = {"c0": 0.1}
    assert check_leaks(colocated_target(), observed(SOUND, held=held)).verdict is Verdict.FAIL
