"""YAML text: what of it is read as what, where it stands, and what is refused."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rayspan.errors import InputError
from rayspan.spec.document import MAX_BYTES, Place, read_document
from tests.unit.spec.valid_specs import TEXT, anything

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc", min_size=1), PLAIN, min_size=1, max_size=3))
@anything
def test_reads_what_yaml_reads(data: dict[str, object]) -> None:
    assert read_document(yaml.safe_dump(data), "spec").data == data


def test_places() -> None:
    document = read_document("a:\n  b: [1, {c: two}]\nd: {}\n", "spec")
    assert document.place_of(("a",)) == Place(1, 1)
    assert document.place_of(("a", "b")) == Place(2, 3)
    assert document.place_of(("a", "b", 0)) == Place(2, 7)
    assert document.place_of(("a", "b", 1, "c")) == Place(2, 14)
    assert document.place_of_key(("a", "b", 1, "c")) == Place(2, 11)
    assert document.place_of(("d", "missing", "below")) == Place(3, 1)
    assert document.place_of(("missing",)) == Place(1, 1)


def test_words_that_yaml_turns_into_something_else_stay_words() -> None:
    data = read_document("a: 1:30\nb: 2024-01-01\nc: =\nd: 0.0.0.0\ne: 1e3\n", "spec").data
    assert data == {"a": "1:30", "b": "2024-01-01", "c": "=", "d": "0.0.0.0", "e": "1e3"}


def test_what_is_written_beside_a_merge_wins() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {z: 3, <<: [*a, *b]}\n"
    assert read_document(text, "spec").data["c"] == {"x": 1, "y": 1, "z": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "spec: found nothing, allowed: a mapping with model and serving"),
        ("# only this\n", "spec: found nothing, allowed: a mapping with model and serving"),
        ("- a\n", "spec: found a list, allowed: a mapping with model and serving"),
        ("rayspan", "spec: found a single value, allowed: a mapping with model and serving"),
        (
            "a:\n---\nb:",
            "spec:2:1: not valid YAML: a second document begins here, allowed: one",
        ),
        (
            "a: {b: 1",
            (
                "spec:1:9: not valid YAML: while parsing a flow mapping, "
                "expected ',' or '}', but got '<stream end>'"
            ),
        ),
        (
            "a:\n\tb: 1",
            (
                "spec:2:1: not valid YAML: while scanning for the next token, "
                "found a tab, which cannot start any token"
            ),
        ),
        ("a: *b", "spec:1:4: not valid YAML: found undefined alias 'b'"),
        (
            "a: \x01",
            (
                "spec: not valid YAML: unacceptable character #x0001: "
                "special characters are not allowed"
            ),
        ),
        ("a: 1\nb: 2\na: 3", "spec:3:1: a: the key is written twice, first on line 1"),
        ("a: {b: 1, b: 1}", "spec:1:11: a.b: the key is written twice, first on line 1"),
        ("? [a]\n: 1", "spec:1:3: a key must be a word"),
        ("a: {<<: 3}", 'spec:1:9: a: "<<" takes a mapping, found a single value'),
        ("a: .inf", "spec:1:4: a: .inf is not a finite number"),
        ("a: !!int x", 'spec:1:4: a: "x" is not of type int'),
        ("a: !mine 1", "spec:1:4: a: the tag !mine is not allowed"),
        ("a: !!set {b}", "spec:1:4: a: the tag !!set is not allowed"),
        (
            "a: [!!python/object/apply:os.system [ls]]",
            "spec:1:5: a.0: the tag !!python/object/apply:os.system is not allowed",
        ),
        ("a: &a [*a]", "spec:1:4: nested deeper than 32 levels"),
        ("[" * 40, "spec:1:33: nested deeper than 32 levels"),
        (
            "a: " + "x" * MAX_BYTES,
            f"spec: {MAX_BYTES + 3} bytes, allowed: at most {MAX_BYTES} bytes in a spec",
        ),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_document(text, "spec")
    assert caught.value.message == message


def test_an_alias_bomb_is_put_out() -> None:
    rows = [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9)]
    with pytest.raises(InputError, match="more than 10000 values once aliases are unfolded"):
        read_document("\n".join(["a0: &a0 [1]", *rows]), "spec")
    merges = [f"a{n + 1}: &a{n + 1} {{<<: [{', '.join([f'*a{n}'] * 9)}]}}" for n in range(9)]
    with pytest.raises(InputError, match="more than 10000 values once aliases are unfolded"):
        read_document("\n".join(["a0: &a0 {b: 1}", *merges]), "spec")
    nested = [f"a{n + 1}: &a{n + 1} {{b: *a{n}}}" for n in range(40)]
    with pytest.raises(InputError, match="nested deeper than 32 levels"):
        read_document("\n".join(["a0: &a0 {b: 1}", *nested]), "spec")
