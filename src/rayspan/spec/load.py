"""Reads a spec; what is wrong with it is said once, with its place, what is allowed and how to mend it."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rayspan.errors import InputError
from rayspan.spec.document import Document, read_document
from rayspan.spec.faults import describe
from rayspan.spec.root import Spec


def load_spec(path: Path) -> Spec:
    """Raises InputError when the file cannot be read or is not a valid spec."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"cannot read {path}: {reason}") from error
    return parse_spec(text, str(path))


def parse_spec(text: str, name: str) -> Spec:
    """The spec in `text`; `name` stands before places in errors."""
    document = read_document(text, name)
    try:
        return Spec.model_validate(document.data)
    except ValidationError as error:
        raise InputError(_all_faults(document, error)) from error


def builtin_spec() -> Spec:
    """What runs when no spec is given."""
    text = resources.files("rayspan.spec").joinpath("builtin.yaml").read_text(encoding="utf-8")
    return parse_spec(text, "builtin.yaml")


def schema_text() -> str:
    """The JSON schema of a spec."""
    schema: dict[str, Any] = Spec.model_json_schema()
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def _all_faults(document: Document, error: ValidationError) -> str:
    faults = {(document.place_of(f.path), f.text()) for e in error.errors() for f in describe(e)}
    ordered = sorted(faults, key=lambda fault: (fault[0].line, fault[0].column, fault[1]))
    return "\n".join(f"{document.name}:{p.line}:{p.column}: {text}" for p, text in ordered)
