"""Quantities with their unit, how they are written and how they are read.

A size in bytes is written with a unit that cannot be mistaken: `256MiB` (2^20) or `200MB` (10^6).
Bits, and the ambiguous `M` and `Mi`, are refused with the spelling that was probably meant.
"""

import re
from decimal import Decimal
from typing import Any, Final, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

# Binary units first: a number that is whole in both is printed in the binary one.
_UNITS: Final = {
    "TiB": 1024**4,
    "GiB": 1024**3,
    "MiB": 1024**2,
    "KiB": 1024,
    "TB": 1000**4,
    "GB": 1000**3,
    "MB": 1000**2,
    "kB": 1000,
    "B": 1,
}
_WRITTEN: Final = re.compile(r"\s*(?P<number>\d+(\.\d+)?)\s*(?P<unit>[A-Za-z]*)\s*", re.ASCII)
_MAX_LENGTH: Final = 32
_MAX_BYTES: Final = 2**60
SIZE_PATTERN: Final = r"^[0-9]+(\.[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$"
SIZE_FORM: Final = 'a size such as "256MiB", "1.5GiB" or "200MB", or a whole number of bytes'


class Bytes(int):
    """A number of bytes: an int that prints with its unit and reads itself back.

    Raises ValueError for text that is not a size, with the spelling that was probably meant.
    """

    def __new__(cls, value: int | str) -> Self:
        size = _read_size(value) if isinstance(value, str) else int(value)
        if not 0 <= size <= _MAX_BYTES:
            raise ValueError(
                f"{value} is out of range: allowed are 0B to {_MAX_BYTES // 1024**4}TiB"
            )
        return super().__new__(cls, size)

    def __str__(self) -> str:
        if self == 0:
            return "0B"
        unit, factor = next(pair for pair in _UNITS.items() if self % pair[1] == 0)
        return f"{int(self) // factor}{unit}"

    def __repr__(self) -> str:
        return f"Bytes('{self}')"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: Any, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "anyOf": [
                {"type": "string", "pattern": SIZE_PATTERN},
                {"type": "integer", "minimum": 0, "maximum": _MAX_BYTES},
            ]
        }

    @classmethod
    def _validate(cls, value: Any) -> Self:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise PydanticCustomError("size_type", "not a size")
        try:
            return cls(value)
        except ValueError as error:
            raise PydanticCustomError("size", "{reason}", {"reason": str(error)}) from error


def _read_size(text: str) -> int:
    match = _WRITTEN.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        shown = "".join(c if c.isprintable() else "?" for c in text[:_MAX_LENGTH])
        raise ValueError(f'"{shown}" is not a size: write {SIZE_FORM}')
    number, unit = match["number"], match["unit"]
    if unit not in _UNITS and not (unit == "" and number.isdigit()):
        raise ValueError(f'"{text}" has {_unit_fault(number, unit)}')
    size = Decimal(number) * _UNITS.get(unit, 1)
    if size != size.to_integral_value():
        raise ValueError(f'"{text}" is not a whole number of bytes')
    return int(size)


def _unit_fault(number: str, unit: str) -> str:
    """What is wrong with a unit, and the unit that was probably meant."""
    if unit == "":
        return f'no unit: write "{number}GiB" or "{number}MiB"'
    if unit[-1] == "b" and len(unit) > 1 and unit[0].isupper():
        return f'the unit "{unit}", which means bits: write "{number}{unit[:-1]}B"'
    known = {name.lower(): name for name in _UNITS}
    for guess in (unit.lower(), unit.lower() + "b"):
        if guess in known:
            return f'the unknown unit "{unit}": did you mean "{number}{known[guess]}"?'
    return f'the unknown unit "{unit}": allowed are {", ".join(reversed(_UNITS))}'
