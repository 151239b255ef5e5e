"""Reads a spec. All that is wrong with one is said at once, in the order in which it is written."""

from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from rayspan.errors import InputError
from rayspan.spec.base import Fault, FieldPath
from rayspan.spec.document import MAX_BYTES, Document, Place, read_document
from rayspan.spec.explain import explain
from rayspan.spec.root import Spec

_MOST_SHOWN = 20


def load_spec(path: Path) -> Spec:
    """Raises InputError when the file cannot be read or is not a valid spec."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read the spec {path}: {error.strerror}") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"{path}: allowed: at most {MAX_BYTES} bytes in a spec")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: byte {error.start} is no character") from error
    return parse_spec(text, str(path))


def parse_spec(text: str, name: str) -> Spec:
    """The spec in `text`; `name` stands before places in errors. Raises InputError."""
    document = read_document(text, name)
    try:
        return Spec.model_validate(document.data)
    except ValidationError as error:
        raise _input_error(document, _faults(document, error)) from error


def builtin_spec() -> Spec:
    """What runs when no spec is given."""
    text = files(__package__).joinpath("builtin.yaml").read_text(encoding="utf-8")
    return parse_spec(text, "builtin.yaml")


def _faults(document: Document, error: ValidationError) -> list[tuple[Place, Fault]]:
    found: list[tuple[Place, Fault]] = []
    for detail in error.errors(include_url=False):
        spelling = document.spellings.get(_plain(detail["loc"], document))
        for fault in explain(detail, Spec, spelling):
            place = document.place_of_key if fault.on_key else document.place_of
            found.append((place(fault.path), fault))
    return sorted(_telling(found, document), key=lambda pair: pair[0])


def _telling(found: list[tuple[Place, Fault]], document: Document) -> list[tuple[Place, Fault]]:
    """Without what only follows from another fault: what is said of a mapping of the wrong kind,
    and a field that is missing because its key is misspelt."""
    strangers = [fault.path[:-1] for _, fault in found if fault.path[-1:] == ("kind",)]
    meant = {(*fault.path[:-1], fault.meant) for _, fault in found if fault.meant}
    return [
        (place, fault)
        for place, fault in found
        if (fault.path[-1:] == ("kind",) or not _is_below(fault.path, strangers))
        and (fault.path in document.values or fault.path not in meant)
    ]


def _plain(loc: FieldPath, document: Document) -> FieldPath:
    """A finding's location without the tags of unions, which are not written as fields."""
    path: FieldPath = ()
    for step in loc:
        if (*path, step) in document.values:
            path = (*path, step)
    return path


def _is_below(path: FieldPath, mappings: list[FieldPath]) -> bool:
    return any(path[: len(mapping)] == mapping for mapping in mappings)


def _input_error(document: Document, found: list[tuple[Place, Fault]]) -> InputError:
    lines = [f"{document.name}:{place.line}:{place.column}: {fault}" for place, fault in found]
    if len(found) == 1:
        return InputError(lines[0], fix=found[0][1].fix)
    fixes = [f"\n      fix: {fault.fix}" if fault.fix else "" for _, fault in found]
    shown = [f"  {line}{fix}" for line, fix in zip(lines, fixes, strict=True)][:_MOST_SHOWN]
    rest = len(found) - len(shown)
    shown += [f"  and {rest} more"] if rest else []
    return InputError("\n".join([f"{document.name}: {len(found)} faults", *shown]))
