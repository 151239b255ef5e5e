"""Specs from files."""

from pathlib import Path

import pytest

from rayspan.errors import InputError
from rayspan.spec import builtin_spec, load_spec

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
