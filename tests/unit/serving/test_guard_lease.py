"""The book of leases, and what it answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayspan.serving.guard.lease import (
    ASK,
    CLOCK_MARGIN_S,
    HELD,
    Answers,
    LeaseBook,
    ended_in_time,
)


def test_only_what_was_lent_and_has_not_expired_is_held() -> None:
    book = LeaseBook()
    book.lend("a")
    book.lend("b")
    book.expire(["b", "never lent"])
    assert [book.is_held(r) for r in ("a", "b", "never lent", "unknown")] == [True, *[False] * 3]


def test_old_requests_are_forgotten_rather_than_held() -> None:
    book = LeaseBook()
    book.lend("first")
    for number in range(1 << 15):
        book.lend(str(number))
    assert not book.is_held("first")
    assert book.is_held("0")


def test_questions_and_metadata_are_told_apart() -> None:
    book = LeaseBook()
    book.lend("a")
    answers = Answers({(0, 0): b"metadata"}, book)
    assert answers[(0, 0)] == b"metadata"
    assert answers[(ASK, "a")] == HELD
    assert answers[(ASK, "b")] != HELD
    with pytest.raises(KeyError):
        answers[(0, 1)]


@given(st.floats(0, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1e3))
def test_a_read_is_in_time_only_before_the_lease_could_end(
    now: float, offset: float, late: float
) -> None:
    expiry_here = now + CLOCK_MARGIN_S
    assert not ended_in_time(now + late + 1e-3, expiry_here + offset, offset)
    assert ended_in_time(now - 1.0, expiry_here + offset, offset)


def test_an_unknown_end_or_clock_proves_nothing() -> None:
    assert not ended_in_time(0.0, None, 0.0)
    assert not ended_in_time(0.0, 1e9, None)
