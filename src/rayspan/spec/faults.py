"""Puts pydantic's findings into words: the field, what was found, what is allowed, what was meant."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from rayspan.spec.root import Spec
from rayspan.spec.rules import Broken

_TAGS = ("prefill-decode", "colocated")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the field at `path`."""

    path: tuple[str | int, ...]
    message: str

    def text(self) -> str:
        field = ".".join(map(str, self.path))
        return f"{field}: {self.message}" if field else self.message


def describe(error: ErrorDetails) -> Iterator[Fault]:
    """The faults behind one finding of pydantic."""
    if error["type"] == "rules":
        broken: Sequence[Broken] = error["ctx"]["broken"]
        yield from (Fault(rule.path, rule.message) for rule in broken)
        return
    path = tuple(part for part in error["loc"] if part not in _TAGS)
    yield Fault(_fault_path(path, error), _message(path, error))


def _fault_path(path: tuple[str | int, ...], error: ErrorDetails) -> tuple[str | int, ...]:
    return (*path, "kind") if error["type"].startswith("union_tag_invalid") else path


def _message(path: tuple[str | int, ...], error: ErrorDetails) -> str:
    found = error["input"]
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return f"is missing; it is {_description(path)}"
        case "extra_forbidden":
            return _unknown_field(path)
        case "union_tag_not_found":
            return f'needs a kind: {_quoted(_TAGS)}'
        case "union_tag_invalid":
            return _unknown_value(str(found.get("kind")), _TAGS)
        case "literal_error" if path[-1:] == ("kind",) and path[:1] == ("target",):
            return f'found {found!r}; allowed in this version is "local"'
        case "literal_error":
            return _unknown_value(found, _literals(path))
        case "string_pattern_mismatch":
            return f"found {found!r}; allowed are {_description(path)}"
        case _:
            reason = str(context.get("reason") or error["msg"])
            return f"found {found!r}; {reason[0].lower() + reason[1:]}"


def _unknown_field(path: tuple[str | int, ...]) -> str:
    known = sorted(_fields(path[:-1]))
    guess = _closest(str(path[-1]), known)
    meant = f'; did you mean "{guess}"?' if guess else ""
    return f"unknown field{meant} (known here: {', '.join(known)})"


def _unknown_value(found: object, allowed: Sequence[str]) -> str:
    guess = _closest(str(found), allowed)
    meant = f'; did you mean "{guess}"?' if guess else ""
    return f"found {found!r}; allowed are {_quoted(allowed)}{meant}"


def _closest(word: str, known: Sequence[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), None)


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _models_at(path: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """The spec models that may stand at `path`."""
    models: list[type[BaseModel]] = [Spec]
    for part in path:
        fields = [m.model_fields[str(part)] for m in models if str(part) in m.model_fields]
        models = [m for field in fields for m in _model_types(field.annotation)]
    return models


def _model_types(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType):
        return [m for part in get_args(annotation) for m in _model_types(part)]
    return []


def _fields(path: tuple[str | int, ...]) -> set[str]:
    return {name for model in _models_at(path) for name in model.model_fields}


def _description(path: tuple[str | int, ...]) -> str:
    for model in _models_at(path[:-1]):
        if (field := model.model_fields.get(str(path[-1]))) and field.description:
            text = field.description.rstrip(".")
            return text[0].lower() + text[1:]
    return "required"


def _literals(path: tuple[str | int, ...]) -> list[str]:
    for model in _models_at(path[:-1]):
        if field := model.model_fields.get(str(path[-1])):
            annotation = field.annotation
            if get_origin(annotation) is Literal:
                return [str(value) for value in get_args(annotation)]
    return []
