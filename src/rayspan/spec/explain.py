"""What pydantic found, as faults: the field, what stands there, what is allowed, what was meant."""

from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from rayspan.spec import base
from rayspan.spec.base import Fault, FieldPath, Strict, nearest, printable, suggest
from rayspan.spec.engine_arguments import is_engine_argument
from rayspan.spec.pool import Pool
from rayspan.units import SIZE_FORM, Bytes

_LATER_KINDS = ("eks", "kubernetes")
_TYPES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    Bytes: SIZE_FORM,
}


class _Location:
    """Where in the models a finding's `loc` leads: pydantic puts the tags of unions between the
    fields."""

    def __init__(self, root: type[BaseModel], loc: FieldPath) -> None:
        self.path: FieldPath = ()
        self.field: FieldInfo | None = None
        self.around: list[type[BaseModel]] = []
        models = {"": root}
        for step in loc:
            if len(models) > 1 and step in models:
                models = {"": models[str(step)]}
                continue
            self.around = list(models.values())
            self.path = (*self.path, step)
            found = (model.model_fields.get(str(step)) for model in self.around)
            self.field = next((info for info in found if info is not None), None)
            models = _models_in(self.field.annotation) if self.field else {}
        self.within = models


def explain(error: ErrorDetails, root: type[Strict], spelling: str | None) -> Iterator[Fault]:
    """The faults behind one finding. `spelling`: how the value at fault was written, if it is one
    word or number."""
    if error["type"] == "default_factory_not_called":  # follows from another finding
        return
    if error["type"] == base.RULES_ERROR:
        yield from error["ctx"]["faults"]
        return
    where, context = _Location(root, error["loc"]), error.get("ctx", {})
    found = _show(error["input"], spelling)
    match error["type"]:
        case "missing":
            yield _missing(where)
        case "extra_forbidden":
            yield _unknown_field(where)
        case "union_tag_not_found":
            kinds = ", ".join(sorted(where.within))
            yield Fault((*where.path, "kind"), f"missing; allowed: {kinds}")
        case "union_tag_invalid":
            found = _show(error["input"]["kind"])
            yield _unknown_word(found, (*where.path, "kind"), sorted(where.within))
        case "literal_error":
            yield _unknown_word(found, where.path, _words(where.field), error["input"])
        case base.ALLOWED_ERROR:
            yield Fault(where.path, f"found {found}, allowed: {context['allowed']}", context["fix"])
        case "size":
            yield Fault(where.path, str(context["reason"]))
        case _:
            yield _wrong_value(where, found, error)


def _missing(where: _Location) -> Fault:
    meaning = where.field.description if where.field and where.field.description else ""
    first = meaning.split(". ")[0].rstrip(".")
    return Fault(where.path, f"missing, required: {first[:1].lower()}{first[1:]}")


def _unknown_field(where: _Location) -> Fault:
    name = str(where.path[-1])
    known = sorted({field for model in where.around for field in model.model_fields})
    meant, fix = nearest(name, known), ""
    if not meant and any(issubclass(model, Pool) for model in where.around):
        fix = "put engine arguments under engine:" if is_engine_argument(name) else ""
    guess = f'; did you mean "{meant}"?' if meant else ";"
    text = f"unknown field{guess} allowed: {', '.join(known)}"
    return Fault(where.path, text, fix, on_key=True, meant=meant)


def _unknown_word(
    found: str, path: FieldPath, allowed: list[str], value: JsonValue = None
) -> Fault:
    if path == ("target", "kind"):
        later = "; this version serves on this machine only" if value in _LATER_KINDS else ""
        return Fault(path, f"found {found}, allowed: local{later}")
    guess = suggest(found.strip('"'), allowed)
    return Fault(path, f"found {found}, allowed: {', '.join(allowed)}{guess}")


def _wrong_value(where: _Location, found: str, error: ErrorDetails) -> Fault:
    allowed = _allowed(where, error)
    fix = ""
    if allowed.startswith("text") and isinstance(error["input"], bool | int | float):
        fix = f'write it in quotes: "{found.partition(",")[0]}"'
    if allowed.startswith("a mapping") and error["input"] is None:
        fix = "write {} to take every default, or leave the field out"
    return Fault(where.path, f"found {found}, allowed: {allowed}", fix)


def _allowed(where: _Location, error: ErrorDetails) -> str:
    if where.within or where.field is None:
        return "a mapping"
    annotation = _without_none(where.field.annotation)
    if get_origin(annotation) is dict:
        return "a mapping"
    low = next((item.ge for item in where.field.metadata if isinstance(item, Ge)), None)
    high = next((item.le for item in where.field.metadata if isinstance(item, Le)), None)
    kind = _TYPES.get(annotation, error["msg"])
    if low is None or high is None:
        return kind
    return f"{kind} from {_sized(annotation, low)} to {_sized(annotation, high)}"


def _sized(annotation: Any, bound: Any) -> str:
    return str(Bytes(bound)) if annotation is Bytes else str(bound)


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


def _models_in(annotation: Any) -> dict[str, type[BaseModel]]:
    """The models that may stand where `annotation` does, by the tag in their `kind`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        kind = annotation.model_fields.get("kind")
        return {get_args(kind.annotation)[0] if kind else "": annotation}
    if get_origin(annotation) in (Union, UnionType):
        parts = [_models_in(part) for part in get_args(annotation)]
        return {tag: model for part in parts for tag, model in part.items()}
    return {}


def _words(info: FieldInfo | None) -> list[str]:
    annotation = info.annotation if info else None
    return [str(word) for word in get_args(annotation)] if get_origin(annotation) is Literal else []


def _show(value: object, spelling: str | None = None) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping" if value else "an empty mapping"
        case list():
            return "a list"
        case bool():
            meant = "true" if value else "false"
            written = spelling if spelling is not None else meant
            return meant if written.lower() == meant else f"{written}, which YAML reads as {meant}"
        case int() | float():
            return printable(spelling if spelling is not None else str(value))
    return f'"{printable(str(value))}"'
