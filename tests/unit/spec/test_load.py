"""Specs from files."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rayspan.errors import InputError
from rayspan.spec import builtin_spec, load_spec, parse_spec
from tests.unit.spec.valid_specs import anything, specs

SPEC = "model: {id: m, source: org/m}\nserving: {kind: colocated}\n"


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + SPEC.replace("\n", "\r\n").encode())  # as some editors write
    assert load_spec(path).model.id == "m"


def test_the_builtin_spec() -> None:
    spec = builtin_spec()
    assert (spec.model.source, spec.model.dtype) == ("builtin:smollm2-135m", "float32")
    for pool in spec.pools().values():
        assert (pool.replicas, pool.block_size, str(pool.kv_cache)) == (1, 32, "256MiB")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.yaml", None, "cannot read the spec {path}: No such file or directory"),
        (".", None, "cannot read the spec {path}: Is a directory"),
        ("latin.yaml", b"name: caf\xe9", "{path}: not UTF-8 text: byte 9 is no character"),
        ("large.yaml", b"#" * 70_000, "{path}: allowed: at most 65536 bytes in a spec"),
        ("wrong.yaml", b"[]", "{path}: found a list, allowed: a mapping with model and serving"),
    ],
)
def test_refuses(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_spec(path)
    assert caught.value.message == message.format(path=path)
    assert caught.value.exit_code == 2


def outcome(text: str) -> str:
    try:
        return parse_spec(text, "spec.yaml").name
    except InputError as error:
        return error.message


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@?,\n\t <=~\x00\u2028", max_size=40))
@anything
def test_any_text_is_a_spec_or_an_input_error(text: str) -> None:
    assert outcome(text).startswith("spec.yaml")


VALUES = st.sampled_from([None, True, 0, -1, 1.5, 10**30, "", "x", "1GiB", [], [1], {}, {"a": 1}])


@given(specs(), st.data())
@anything
def test_any_wrong_value_is_an_input_error_at_its_field(
    data: dict[str, Any], draw: st.DataObject
) -> None:
    target, path = data, []
    while True:
        name = draw.draw(st.sampled_from([*target, "strange"]))
        path.append(name)
        if not isinstance(target.get(name), dict) or draw.draw(st.booleans()):
            break
        target = target[name]
    target[name] = draw.draw(VALUES)
    said = outcome(yaml.safe_dump(data))
    assert said == data["name"] or said.startswith("spec.yaml:")
