"""The versions of the stack stand in `stack/` and nowhere else.

Prose about the past may name them: the changelog, and the decision records. Any other line that
must is marked with `stack-version:` and the reason.
"""

import re
from pathlib import PurePath

import pytest

from rayspan.stack.row import all_rows
from tests.tree import tracked_text

HOME = "src/rayspan/stack"
HISTORY = ("CHANGELOG.md", "docs/decisions")
MARK = re.compile(r"stack-version: \S+")


def versions() -> set[str]:
    rows = all_rows()
    named = {each.version for row in rows for each in row.packages if each.version}
    clusters = [row.cluster for row in rows if row.cluster]
    more = {
        version
        for each in clusters
        for version in (
            each.cuda,
            each.efa_installer,
            each.libfabric,
            each.aws_ofi_nccl,
            each.kuberay,
        )
    }
    return named | more


def offences(name: str, text: str) -> list[str]:
    """Lines that name a version of the stack without being allowed to."""
    if any(PurePath(name).is_relative_to(allowed) for allowed in (HOME, *HISTORY)):
        return []
    alternatives = "|".join(sorted(map(re.escape, versions())))
    pattern = re.compile(rf"(?<![\w.])v?({alternatives})(?!\w|\.\d)")
    return [
        f"{name}:{number}: {line.strip()}"
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line) and not MARK.search(line)
    ]


def test_versions_stand_in_one_place() -> None:
    assert not [each for name, text in tracked_text().items() for each in offences(name, text)]


def test_the_place_itself_is_looked_at() -> None:
    assert f"{HOME}/lock.toml" in tracked_text()


@pytest.mark.parametrize("form", ["ray=={}", 'version = "{}"', "v{}", "at {}.", "{}"])
def test_a_version_elsewhere_is_found(form: str) -> None:
    for version in versions():
        assert offences("docs/x.md", form.format(version))


@pytest.mark.parametrize(
    "form", ["1{}", "{}.7", "{}rc1", "{} # stack-version: a tag that was read"]
)
def test_other_numbers_and_marked_lines_are_let_be(form: str) -> None:
    for version in versions():
        assert not offences("docs/x.md", form.format(version))


def test_a_mark_needs_a_reason() -> None:
    assert offences("docs/x.md", f"{min(versions())} stack-version: ")
