"""The parity check: exact in float32, near-ties excused below it."""

import pytest

from rayspan.verify.parity import Continuation, Reference, check_parity
from rayspan.verify.probes import Answer, Probe
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import answers, split_target

SURE = Continuation((7, 8, 9), (3.0, 3.0, 3.0))
OTHER = Continuation((7, 5, 9), (3.0, 2.0, 3.0))
NEAR = Continuation((7, 5, 9), (3.0, 0.1, 3.0))


def reference(*different: Continuation, name: str = "transformers") -> Reference:
    """Agrees with the answers, but for the first ones."""
    return Reference(name, (*different, *[SURE] * (5 - len(different))))


@pytest.mark.parametrize(
    ("dtype", "different", "verdict"),
    [
        ("float32", (), Verdict.PASS),
        ("float32", (NEAR,), Verdict.FAIL),
        ("bfloat16", (NEAR,), Verdict.PASS),
        ("bfloat16", (OTHER,), Verdict.FAIL),
        ("bfloat16", (NEAR, NEAR, NEAR), Verdict.FAIL),
        ("float16", (NEAR,), Verdict.FAIL),
    ],
)
def test_one_reference(dtype: str, different: tuple[Continuation, ...], verdict: Verdict) -> None:
    check = check_parity(split_target(dtype=dtype), answers(), [reference(*different)])
    assert check.verdict is verdict


def test_either_reference_can_fail_it() -> None:
    wrong = reference(OTHER, name="colocated")
    check = check_parity(split_target(), answers(), [reference(), wrong])
    assert check.verdict is Verdict.FAIL
    assert check.summary == (
        "1-token prompt against colocated, differing at token 1, where the reference led by 2 nats:"
        " 7 8 9, expected 7 5 9"
    )


def test_an_answer_cut_short_fails() -> None:
    longer = Continuation((7, 8, 9, 10), (3.0, 3.0, 3.0, 3.0))
    check = check_parity(split_target(dtype="bfloat16"), answers(), [reference(longer)])
    assert check.verdict is Verdict.FAIL


def test_a_missing_reference_is_inconclusive_unless_the_other_fails() -> None:
    missing = Reference("colocated", problem="out of memory")
    check = check_parity(split_target(), answers(), [reference(), missing])
    assert (check.verdict, check.summary) == (Verdict.INCONCLUSIVE, "no colocated: out of memory")
    failed = check_parity(split_target(), answers(), [reference(OTHER), missing])
    assert failed.verdict is Verdict.FAIL


def test_no_answers_are_inconclusive() -> None:
    refused = [Answer(Probe((1,)), error="status 500")]
    assert check_parity(split_target(), refused, []).verdict is Verdict.INCONCLUSIVE


def test_no_references_are_inconclusive() -> None:
    assert check_parity(split_target(), answers(), []).verdict is Verdict.INCONCLUSIVE


def test_near_ties_are_told() -> None:
    check = check_parity(split_target(dtype="bfloat16"), answers(), [reference(NEAR)])
    assert "save 1 near-ties (lead under 0.25 nats, which bfloat16 may turn)" in check.summary
