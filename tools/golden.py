"""Writes `examples/*/rendered/` from the specs beside them.

python tools/golden.py [--check]
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from rayspan.render import render_serve_config
from rayspan.spec import Spec, load_spec

EXAMPLES = Path(__file__).parents[1] / "examples"
_BUILTIN = "builtin:"


def golden_files() -> Iterator[tuple[Path, str]]:
    """Each rendered file with the text that it should hold."""
    for path in sorted(EXAMPLES.glob("*/spec.yaml")):
        spec = load_spec(path)
        text = render_serve_config(spec, model_source=_model_source(spec)).to_yaml()
        yield path.parent / "rendered" / "serve.yaml", text


def stale_files() -> list[Path]:
    """The rendered files that are missing, differ, or belong to no spec."""
    golden = dict(golden_files())
    differ = [path for path, text in golden.items() if _text(path) != text]
    return differ + sorted(set(EXAMPLES.glob("*/rendered/*")) - set(golden))


def _model_source(spec: Spec) -> str:
    """The same on every machine: a stand-in for the folder of the built-in model."""
    source = spec.model.source
    return f"/models/{spec.model.id}" if source.startswith(_BUILTIN) else source


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main() -> int:
    if "--check" in sys.argv[1:]:
        stale = stale_files()
        print("".join(f"{path} is out of date\n" for path in stale), end="", file=sys.stderr)
        return 1 if stale else 0
    for path, text in golden_files():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
