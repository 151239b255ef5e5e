"""The bytes check on counters of sound, broken and unclear runs."""

import pytest

from rayspan.verify.bytes import check_bytes
from rayspan.verify.target import Target
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import (
    BUCKET,
    EXACT,
    SOUND,
    TRANSFERS,
    colocated_target,
    observed,
    spec_of,
    split_target,
)

WANTED = 22 * 1_474_560
WITHOUT_COUNTER = {key: value for key, value in SOUND.items() if key[0] != EXACT}
# Three transfers of one block, one of two, one of seventeen.
BUCKETS = {
    (BUCKET, "decode", "le=524288.0"): 0.0,
    (BUCKET, "decode", "le=2097152.0"): 3.0,
    (BUCKET, "decode", "le=8388608.0"): 4.0,
    (BUCKET, "decode", "le=33554432.0"): 5.0,
}


def test_the_right_number_passes_and_shows_its_formula() -> None:
    check = check_bytes(split_target(), observed(SOUND))
    assert check.verdict is Verdict.PASS
    assert "22 x 30 regions x 49152 B" in check.formula[0]


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(1.0199, Verdict.PASS), (0.9801, Verdict.PASS), (1.0201, Verdict.FAIL), (0.0, Verdict.FAIL)],
)
def test_two_percent_are_allowed(share: float, verdict: Verdict) -> None:
    seen = observed(SOUND | {(EXACT, "decode"): WANTED * share})
    assert check_bytes(split_target(), seen).verdict is verdict


def test_bytes_that_never_moved_fail() -> None:
    nothing = {key: value for key, value in WITHOUT_COUNTER.items() if key[0] != TRANSFERS}
    check = check_bytes(split_target(), observed(nothing))
    assert check.verdict is Verdict.FAIL
    assert check.summary == f"bytes read by decode: 0.0, expected {WANTED}"


def test_without_the_exact_counter_right_buckets_are_inconclusive() -> None:
    check = check_bytes(split_target(), observed(WITHOUT_COUNTER | BUCKETS))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "order of magnitude" in check.summary


def test_without_the_exact_counter_wrong_buckets_fail() -> None:
    wrong = BUCKETS | {(BUCKET, "decode", "le=8388608.0"): 5.0}
    check = check_bytes(split_target(), observed(WITHOUT_COUNTER | wrong))
    assert check.verdict is Verdict.FAIL
    assert check.summary == "transfers of at most 8388608 bytes: 5.0, expected 4"


def test_no_traffic_is_inconclusive() -> None:
    assert check_bytes(split_target(), observed({})).verdict is Verdict.INCONCLUSIVE


def test_an_unknown_model_is_inconclusive() -> None:
    check = check_bytes(Target(spec_of(), None, "odd"), observed(SOUND))
    assert check.verdict is Verdict.INCONCLUSIVE


def test_colocated_engines_are_skipped() -> None:
    assert check_bytes(colocated_target(), observed({})).verdict is Verdict.SKIP
