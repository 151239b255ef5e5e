"""Writes the pages of docs/reference that follow from the code: the spec and the command line.

python tools/gen_reference.py [--check]
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from rayspan.cli.main import app
from rayspan.spec import schema_text

HOME = Path(__file__).parents[1] / "docs/reference"
_NOTE = "<!-- Written by tools/gen_reference.py; do not edit. -->"
_MODELS = ("Spec", "Model", "PrefillDecode", "Colocated", "Pool", "Transport", "LocalTarget")


def spec_page() -> str:
    """A table for each part of the spec, from its JSON schema."""
    schema = json.loads(schema_text())
    parts = {"Spec": schema, **schema["$defs"]}
    lines = ["# The spec", "", _NOTE, ""]
    for name in _MODELS:
        lines += [f"## {name}", "", parts[name].get("description", "").split("\n\n")[0], ""]
        lines += ["| field | type | default | meaning |", "|---|---|---|---|"]
        required = parts[name].get("required", [])
        for field, about in parts[name]["properties"].items():
            default = "required" if field in required else _default(about)
            meaning = " ".join(about.get("description", "").split()).replace("|", "\\|")
            lines.append(f"| `{field}` | {_type(about)} | {default} | {meaning} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _default(about: dict[str, Any]) -> str:
    value = about.get("default")
    return "" if value is None else f"`{json.dumps(value)}`"


def _type(about: dict[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_types(about)))


def _types(about: dict[str, Any]) -> Iterator[str]:
    for option in about.get("anyOf") or about.get("oneOf") or [about]:
        if "$ref" in option:
            yield option["$ref"].rpartition("/")[2]
        elif "enum" in option:
            yield from (f"`{value}`" for value in option["enum"])
        elif "const" in option:
            yield f"`{option['const']}`"
        elif "anyOf" in option:
            yield from _types(option)
        elif option.get("type") != "null":
            yield option.get("type", "any")


def cli_page() -> str:
    """The help text of every command."""
    lines = ["# The command line", "", _NOTE, "", *_help([])]
    group = typer.main.get_command(app)
    for name, command in sorted(getattr(group, "commands", {}).items()):
        lines += _help([name])
        for inner in sorted(getattr(command, "commands", {})):
            lines += _help([name, inner])
    return "\n".join(lines).rstrip() + "\n"


def _help(words: list[str]) -> list[str]:
    result = CliRunner().invoke(
        app, [*words, "--help"], prog_name="rayspan", env={"COLUMNS": "96", "TERMINAL_WIDTH": "96"}
    )
    text = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
    return [f"## {' '.join(['rayspan', *words])}", "", "```", text, "```", ""]


PAGES = {"spec.md": spec_page, "cli.md": cli_page}


def main() -> int:
    stale = []
    for name, page in PAGES.items():
        path, text = HOME / name, page()
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path))
    if stale:
        print(f"out of date: {', '.join(stale)}: run tools/gen_reference.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
