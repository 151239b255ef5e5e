"""The files of this repository, for tests that look at all of them."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rayspan"


@cache
def tracked_files() -> tuple[Path, ...]:
    """What git has or would take, without what it ignores. Skips the test outside of a clone."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone")
    command = [git, "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(path for name in names if name and (path := ROOT / name).is_file())


@cache
def tracked_text() -> dict[str, str]:
    """Path from the root to content, of the files that are text."""
    found = {}
    for path in tracked_files():
        try:
            found[str(path.relative_to(ROOT))] = path.read_text()
        except UnicodeDecodeError:
            continue
    return found


def example(name: str) -> str:
    return (ROOT / "examples" / name / "spec.yaml").read_text()
