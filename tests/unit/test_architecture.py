"""What `.importlinter` cannot say: sizes, names, and what may not be written anywhere."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tree import ROOT, SOURCE, tracked_files, tracked_text

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 80
MAX_COMMAND_LINES = 100
# Function -> why it is longer than it should be.
LONG_FUNCTIONS: dict[str, str] = {}
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
HEAVY = {"ray", "vllm", "torch", "transformers", "nixl"}
# Written in two parts, or this file would be the first to be found.
REGISTRIES = (
    "pypi" + ".org",
    "python" + "hosted",
    "download.py" + "torch",
    "index" + "-url",
    "find" + "-links",
)
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(work|root|home)/\w")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield f"{path.stem}.{node.name}", node.end_lineno - node.lineno + 1


def test_there_is_something_to_look_at() -> None:
    assert len(modules()) > 20
    assert len(tracked_files()) > 50


def test_no_module_is_too_long() -> None:
    long = {str(path): n for path in modules() if (n := _lines(path)) > MAX_MODULE_LINES}
    assert not long


def test_no_function_is_too_long() -> None:
    long = {
        name: lines
        for path in (*modules(), *sorted((ROOT / "tools").glob("*.py")))
        for name, lines in functions(path)
        if lines > MAX_FUNCTION_LINES and name not in LONG_FUNCTIONS
    }
    assert not long


def test_commands_only_parse_call_and_print() -> None:
    long = {
        path.name: n
        for path in sorted((SOURCE / "cli").glob("*.py"))
        if (n := _lines(path)) > MAX_COMMAND_LINES
    }
    assert not long


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path)
        for path in modules()
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert not silent


def test_names_say_something() -> None:
    assert not [path for path in SOURCE.rglob("*") if path.stem in SAYS_NOTHING]


def test_help_imports_nothing_heavy() -> None:
    probe = (
        "import json, sys\n"
        "sys.argv = ['rayspan', '--help']\n"
        "from rayspan.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", probe], check=True, capture_output=True, text=True, timeout=60
    )
    loaded = set(json.loads(ran.stdout.splitlines()[-1]))
    assert "rayspan" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("word", REGISTRIES)
def test_no_file_names_a_registry(word: str) -> None:
    assert not [name for name, text in tracked_text().items() if word in text]


def test_no_file_names_a_place_on_one_machine() -> None:
    found = {
        f"{name}: {match[0]}"
        for name, text in tracked_text().items()
        for match in MACHINE_PATH.finditer(text)
    }
    assert not found


@pytest.mark.parametrize("top", ["work", "root", "home"])
def test_a_place_on_one_machine_is_found(top: str) -> None:
    assert all(MACHINE_PATH.search(f"{before}/{top}/x") for before in ("", "see ", "'", "=", "("))


@pytest.mark.parametrize("text", ["network/work/x", "a/home/b", "~/work/x", "at work / home"])
def test_other_paths_are_let_be(text: str) -> None:
    assert not MACHINE_PATH.search(text)


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())
