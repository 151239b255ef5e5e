"""What every part of a spec has in common, and the form in which a fault of one is reported."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

FieldPath = tuple[str | int, ...]

RULES_ERROR = "rules"
ALLOWED_ERROR = "allowed"
_LONGEST_SHOWN: Final = 60

# What people write for the words of a spec.
_SYNONYMS: Final = {
    "gpu": "cuda",
    "fp16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "float": "float32",
    "pd": "prefill-decode",
    "disaggregated": "prefill-decode",
    "aggregated": "colocated",
    "shm": "ucx",
    "libfabric": "efa",
    "tp": "tensor_parallel",
    "pp": "pipeline_parallel",
    "placement_group_strategy": "placement",
    "strategy": "placement",
    "num_replicas": "replicas",
    "model_id": "id",
    "model_source": "source",
}


class Strict(BaseModel):
    """No unknown field, no silent conversion, nothing set after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a spec: where, what was found and is allowed, and how to mend it.

    `on_key` says that the key itself is at fault, not what it holds; `meant` is the key that was
    probably meant.
    """

    path: FieldPath
    text: str
    fix: str = ""
    on_key: bool = False
    meant: str = ""

    def __str__(self) -> str:
        where = dotted(self.path)
        return f"{where}: {self.text}" if where else self.text


def dotted(path: FieldPath) -> str:
    """A path as it is shown."""
    return ".".join(printable(str(step)) for step in path)


def printable(text: str) -> str:
    """What a terminal shows and does not obey, cut where it becomes too long to read."""
    shown = "".join(c if c.isprintable() else "?" for c in text[:_LONGEST_SHOWN])
    return f"{shown}..." if len(text) > _LONGEST_SHOWN else shown


def nearest(found: str, allowed: Iterable[str]) -> str:
    """The allowed word that was probably meant, or an empty string."""
    known = {word.lower(): word for word in allowed}
    if (synonym := _SYNONYMS.get(found.lower(), "")) in known:
        return synonym
    for spelling in (found.lower(), found.lower().replace("-", "_")):
        if near := difflib.get_close_matches(spelling, known, n=1, cutoff=0.6):
            return known[near[0]]
    return ""


def suggest(found: str, allowed: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing."""
    word = nearest(found, allowed)
    return f'; did you mean "{word}"?' if word else ""


def not_allowed(allowed: str, fix: str = "") -> PydanticCustomError:
    """The error by which a field's own check says what it allows."""
    return PydanticCustomError(
        ALLOWED_ERROR, "allowed: {allowed}", {"allowed": allowed, "fix": fix}
    )
