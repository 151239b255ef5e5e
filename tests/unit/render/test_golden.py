"""The rendered examples in the repository are what the renderer writes now."""

from pathlib import Path

import pytest

from rayspan.spec import builtin_spec, load_spec
from tests.tree import ROOT
from tools import golden

NAMES = {
    "cuda-two-nodes",
    "local-2p2d",
    "local-colocated-2",
    "local-pd",
    "local-pd-cuda",
    "local-tcp",
}


def test_examples_are_all_there() -> None:
    assert {path.parent.parent.name for path, _ in golden.golden_files()} == NAMES


@pytest.mark.parametrize(
    ("path", "text"), list(golden.golden_files()), ids=lambda p: getattr(p, "parts", [""] * 3)[-3]
)
def test_rendered_file_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text() == text, "run python tools/golden.py"


def test_stale_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "EXAMPLES", tmp_path)
    rendered = tmp_path / "one" / "rendered"
    rendered.mkdir(parents=True)
    spec = ROOT / "examples/local-pd/spec.yaml"
    (tmp_path / "one" / "spec.yaml").write_text(spec.read_text())
    (rendered / "left-over.yaml").write_text("")
    assert golden.stale_files() == [rendered / "serve.yaml", rendered / "left-over.yaml"]


def test_the_first_example_is_the_builtin_spec() -> None:
    assert load_spec(golden.EXAMPLES / "local-pd" / "spec.yaml") == builtin_spec()
