"""Sizes: what is read, how it is printed back, and what each refusal says."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from rayspan.units import SIZE_FORM, Bytes


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("256MiB", 256 * 1024**2),
        ("1GiB", 1024**3),
        ("1.5 GiB", 3 * 1024**3 // 2),
        ("200MB", 200_000_000),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("0B", 0),
        (" 7B ", 7),
        ("4096", 4096),
        (4096, 4096),
    ],
)
def test_reads(written: str | int, size: int) -> None:
    assert Bytes(written) == size


@pytest.mark.parametrize(
    ("size", "printed"),
    [
        (256 * 1024**2, "256MiB"),
        (200_000_000, "200MB"),
        (1024_000, "1000KiB"),
        (1, "1B"),
        (0, "0B"),
        (1024**4, "1TiB"),
    ],
)
def test_prints(size: int, printed: str) -> None:
    assert str(Bytes(size)) == printed
    assert f"{Bytes(size):>9}" == printed.rjust(9)
    assert repr(Bytes(size)) == f"Bytes('{printed}')"


@given(st.integers(min_value=0, max_value=2**60))
@settings(database=None, derandomize=True, deadline=None)
def test_prints_what_it_reads(size: int) -> None:
    assert Bytes(str(Bytes(size))) == size


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("256Mb", '"256Mb" has the unit "Mb", which means bits: write "256MB"'),
        ("256Mib", '"256Mib" has the unit "Mib", which means bits: write "256MiB"'),
        ("256Mi", '"256Mi" has the unknown unit "Mi": did you mean "256MiB"?'),
        ("256m", '"256m" has the unknown unit "m": did you mean "256MB"?'),
        ("256mib", '"256mib" has the unknown unit "mib": did you mean "256MiB"?'),
        (
            "3 pg",
            '"3 pg" has the unknown unit "pg": allowed are B, kB, MB, GB, TB, KiB, MiB, GiB, TiB',
        ),
        ("1.5", '"1.5" has no unit: write "1.5GiB" or "1.5MiB"'),
        ("0.3B", '"0.3B" is not a whole number of bytes'),
        (
            "much",
            f'"much" is not a size: write {SIZE_FORM}',
        ),
        (
            "-1MiB",
            f'"-1MiB" is not a size: write {SIZE_FORM}',
        ),
        ("9" * 31, f"{'9' * 31} is out of range: allowed are 0B to 1048576TiB"),
        (-1, "-1 is out of range: allowed are 0B to 1048576TiB"),
    ],
)
def test_refuses(written: str | int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Bytes(written)


class _Pool(BaseModel):
    size: Bytes


def test_is_a_pydantic_field() -> None:
    pool = _Pool.model_validate({"size": "1GiB"})
    assert isinstance(pool.size, Bytes)
    assert pool.model_dump(mode="json") == {"size": "1GiB"}
    assert _Pool.model_validate_json(pool.model_dump_json()) == pool


@pytest.mark.parametrize("value", [True, None, 1.5, [1], {"a": 1}])
def test_refuses_what_is_no_size(value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Bytes).validate_python(value)
    assert caught.value.errors()[0]["type"] == "size_type"
