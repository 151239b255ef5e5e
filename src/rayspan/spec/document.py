"""Reads YAML text into plain values, and remembers where each of them stands.

Only plain data is accepted: no tags, no duplicate keys, no anchors that would unfold without bound.
"""

from dataclasses import dataclass
from typing import Any

import yaml

from rayspan.errors import InputError

Path = tuple[str | int, ...]
_MAX_BYTES = 1 << 20
_MAX_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """Line and column in the text, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """`places` holds where the key of each value stands, or the item of a list."""

    name: str
    data: dict[str, Any]
    places: dict[Path, Place]

    def place_of(self, path: Path) -> Place:
        """Of the value, or of the nearest one around it that is written."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))


def read_document(text: str, name: str) -> Document:
    """Raises InputError naming the place of the first thing that is not plain YAML of one mapping."""
    if len(text.encode()) > _MAX_BYTES:
        raise InputError(f"{name}: larger than {_MAX_BYTES >> 20} MiB: not a spec")
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise InputError(f"{_where(name, error)}: not valid YAML: {_problem(error)}") from error
    if not isinstance(node, yaml.MappingNode):
        kind = "empty" if node is None else f"a {node.id}"
        raise InputError(f"{name}: {kind}, where a mapping with model, serving, ... is needed")
    reader = _Reader(name)
    return Document(name, reader.read(node, ()), reader.places)


class _Reader:
    def __init__(self, name: str) -> None:
        self.places: dict[Path, Place] = {}
        self._name, self._nodes = name, 0
        self._scalars = yaml.SafeLoader("")

    def read(self, node: yaml.Node, path: Path) -> Any:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise InputError(f"{self._name}: more than {_MAX_NODES} values once aliases are unfolded")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*path, i)) for i, item in enumerate(node.value)]
        return self._scalar(node)

    def _item(self, node: yaml.Node, path: Path) -> Any:
        self.places[path] = _place(node)
        return self.read(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(self._scalar(key_node)) if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                raise self._error(key_node, "a key must be a plain word")
            if key == "<<":
                raise self._error(key_node, "merge keys are not supported: write the fields out")
            if key in found:
                raise self._error(key_node, f'the key "{key}" stands here a second time')
            self.places[*path, key] = _place(key_node)
            found[key] = self.read(value_node, (*path, key))
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        if node.tag == "tag:yaml.org,2002:merge":
            return "<<"
        if not node.tag.startswith("tag:yaml.org,2002:"):
            raise self._error(node, f"the tag {node.tag} is not allowed")
        try:
            return self._scalars.construct_object(node)  # type: ignore[no-untyped-call]
        except (yaml.YAMLError, ValueError) as error:
            raise self._error(node, f"not a valid value: {node.value!r}") from error

    def _error(self, node: yaml.Node, message: str) -> InputError:
        place = _place(node)
        return InputError(f"{self._name}:{place.line}:{place.column}: {message}")


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _where(name: str, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error).splitlines()[0]
