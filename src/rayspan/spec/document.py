"""YAML text as plain values that remember where they stand.

Only plain data is read: one mapping, no tags of programs, no key twice, nothing so deep or so
repeated by aliases that unfolding it would take the machine down.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from rayspan.errors import InputError
from rayspan.spec.base import FieldPath, dotted, printable

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 32
MAX_VALUES: Final = 10_000

_CORE: Final = "tag:yaml.org,2002:"
_PLAIN: Final = {_CORE + kind for kind in ("null", "bool", "int", "float")}
_AS_TEXT: Final = {_CORE + kind for kind in ("str", "timestamp", "value")}
_MERGE: Final = _CORE + "merge"
# YAML 1.1 reads 1:30 as the number 90; nobody means that.
_SEXAGESIMAL: Final = re.compile(r"[-+]?\d+(:\d+)+(\.\d*)?")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """The values of one text. Places and spellings are kept by path, a key's place apart from its
    value's."""

    name: str
    data: dict[str, Any]
    keys: dict[FieldPath, Place] = field(default_factory=dict)
    values: dict[FieldPath, Place] = field(default_factory=dict)
    spellings: dict[FieldPath, str] = field(default_factory=dict)

    def place_of(self, path: FieldPath) -> Place:
        """Of a single value; for a mapping or a list its key, where it has one. Of what is not
        written: of the nearest thing around it that is."""
        while path and path not in self.values:
            path = path[:-1]
        if path in self.keys and path not in self.spellings:
            return self.keys[path]
        return self.values.get(path, Place(1, 1))

    def place_of_key(self, path: FieldPath) -> Place:
        """Of the key that names the field at `path`."""
        return self.keys.get(path) or self.place_of(path)


def read_document(text: str, name: str) -> Document:
    """Raises InputError naming the place of the first thing that is not a plain YAML mapping."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise InputError(f"{name}: {size} bytes, allowed: at most {MAX_BYTES} bytes in a spec")
    node = _compose(text, name)
    if not isinstance(node, yaml.MappingNode):
        found = "nothing" if node is None or _is_empty(node) else _kind(node)
        raise InputError(
            f"{name}: found {found}, allowed: a mapping with model and serving",
            fix="begin with model: {id: mine, source: ./my-model} and serving: {kind: colocated}",
        )
    document = Document(name, {})
    document.data.update(_Reader(document).mapping(node, ()))
    return document


def _compose(text: str, name: str) -> yaml.Node | None:
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent)
            depth -= isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent)
            if depth > MAX_DEPTH:
                raise _error(name, _place(event.start_mark), _too_deep())
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark or error.context_mark)
        raise _error(name, place, f"not valid YAML: {_reason(error)}") from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise InputError(f"{name}: not valid YAML: {str(error).splitlines()[0]}") from error


def _reason(error: yaml.MarkedYAMLError) -> str:
    if error.problem == "but found another document":
        return "a second document begins here, allowed: one"
    parts = [error.context, error.problem]
    return ", ".join(part for part in parts if part).replace("character '\\t' that", "a tab, which")


class _Reader:
    """Turns nodes into values, and fills in a document's places on the way."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._count = 0
        self._scalars = yaml.SafeLoader("")

    def mapping(self, node: yaml.MappingNode, path: FieldPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        own: dict[str, Place] = {}
        # Merged values first: what is written beside them wins.
        for key_node, value_node in sorted(node.value, key=lambda pair: pair[0].tag != _MERGE):
            place = _place(key_node.start_mark)
            if key_node.tag == _MERGE:
                found |= self._merged(value_node, path)
                continue
            key = self._key(key_node)
            if key in own:
                first = f"first on line {own[key].line}"
                raise self._fault(place, (*path, key), f"the key is written twice, {first}")
            own[key] = self._document.keys[*path, key] = place
            found[key] = self._value(value_node, (*path, key))
        return found

    def _merged(self, node: yaml.Node, path: FieldPath) -> dict[str, Any]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            if not isinstance(source, yaml.MappingNode):
                raise self._fault(
                    _place(source.start_mark), path, f'"<<" takes a mapping, found {_kind(source)}'
                )
            self._enter(source, path)
            merged |= self.mapping(source, path)
        return merged

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._fault(_place(node.start_mark), (), "a key must be a word")
        return str(node.value)

    def _value(self, node: yaml.Node, path: FieldPath) -> Any:
        self._enter(node, path)
        self._document.values[path] = _place(node.start_mark)
        if isinstance(node, yaml.MappingNode) and node.tag == _CORE + "map":
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _CORE + "seq":
            return [self._value(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            self._document.spellings[path] = node.value
            return self._scalar(node, path)
        raise self._tag_fault(node, path)

    def _enter(self, node: yaml.Node, path: FieldPath) -> None:
        """Counts the value: aliases may repeat it without end."""
        self._count += 1
        if self._count > MAX_VALUES or len(path) > MAX_DEPTH:
            text = f"more than {MAX_VALUES} values once aliases are unfolded"
            text = text if self._count > MAX_VALUES else _too_deep()
            raise _error(self._document.name, _place(node.start_mark), text)

    def _scalar(self, node: yaml.ScalarNode, path: FieldPath) -> Any:
        if node.tag in _AS_TEXT or (node.tag in _PLAIN and _SEXAGESIMAL.fullmatch(node.value)):
            return node.value
        if node.tag not in _PLAIN:
            raise self._tag_fault(node, path)
        try:
            value = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError, KeyError) as error:
            text = f'"{printable(node.value)}" is not of type {node.tag.removeprefix(_CORE)}'
            raise self._fault(_place(node.start_mark), path, text) from error
        if isinstance(value, float) and not math.isfinite(value):
            raise self._fault(_place(node.start_mark), path, f"{node.value} is not a finite number")
        return value

    def _tag_fault(self, node: yaml.Node, path: FieldPath) -> InputError:
        tag = printable(node.tag.replace(_CORE, "!!"))
        return self._fault(_place(node.start_mark), path, f"the tag {tag} is not allowed")

    def _fault(self, place: Place, path: FieldPath, text: str) -> InputError:
        where = dotted(path)
        return _error(self._document.name, place, f"{where}: {text}" if where else text)


def _place(mark: Any) -> Place:
    """Of a mark of either of PyYAML's two readers."""
    return Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)


def _error(name: str, place: Place, text: str) -> InputError:
    return InputError(f"{name}:{place.line}:{place.column}: {text}")


def _too_deep() -> str:
    return f"nested deeper than {MAX_DEPTH} levels"


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _CORE + "null"


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "a mapping" if isinstance(node, yaml.MappingNode) else "a single value"
