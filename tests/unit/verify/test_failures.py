"""The failures check: an absent counter is zero only where something moved."""

import pytest

from rayspan.verify.failures import COUNTERS, check_failures
from rayspan.verify.probes import Answer, Probe
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import (
    SOUND,
    TRANSFERS,
    answers,
    colocated_target,
    observed,
    split_target,
)

REFUSED = Answer(Probe((1, 2)), error="status 500: transfer failed")


def test_no_counter_and_transfers_pass() -> None:
    check = check_failures(split_target(), observed(SOUND))
    assert (check.verdict, check.summary) == (Verdict.PASS, "none in 5 transfers")


@pytest.mark.parametrize(("what", "name"), COUNTERS.items())
@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_each_counter_in_each_pool_fails(what: str, name: str, role: str) -> None:
    """Counted late, too: a lease runs out after the answers are in."""
    seen = observed(SOUND, drained=SOUND | {(name, role): 1})
    check = check_failures(split_target(), seen)
    engine = f"{role} {role[0]}0"
    assert (check.verdict, check.summary) == (
        Verdict.FAIL,
        f"{what} of {engine}: 1.0, expected 0",
    )


def test_a_probe_without_an_answer_fails() -> None:
    seen = observed(SOUND, given=(*answers(), REFUSED))
    check = check_failures(split_target(), seen)
    assert (check.verdict, check.summary) == (
        Verdict.FAIL,
        "probes without an answer (status 500: transfer failed): 1, expected 0",
    )
    assert check_failures(colocated_target(), seen).verdict is Verdict.FAIL


def test_nothing_moved_is_inconclusive() -> None:
    still = {key: value for key, value in SOUND.items() if key[0] != TRANSFERS}
    assert check_failures(split_target(), observed(still)).verdict is Verdict.INCONCLUSIVE


def test_colocated_engines_are_skipped() -> None:
    assert check_failures(colocated_target(), observed({})).verdict is Verdict.SKIP
