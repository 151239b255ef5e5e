"""Pages are indexed, links lead somewhere, decisions are short, the changelog has the version."""

import re
from pathlib import Path

import pytest

from rayspan import __version__
from tests.tree import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PROSE = [*PAGES, *sorted(ROOT.glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
MAX_DECISION_LINES = 40


def broken_links(page: Path) -> list[str]:
    return [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not broken_links(page)


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md#top) [b](https://example.com/x) [c](gone.md)")
    assert broken_links(page) == ["gone.md"]


def test_every_page_is_in_the_index() -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / link).resolve() for link in LINK.findall(index.read_text())}
    assert not [str(page) for page in PAGES if page != index and page.resolve() not in linked]


def test_decisions_are_short_and_numbered() -> None:
    decisions = sorted((DOCS / "decisions").glob("*.md"))
    assert [page.name[:4] for page in decisions] == [f"{n + 1:04}" for n in range(len(decisions))]
    for page in decisions:
        text = page.read_text()
        assert len(text.splitlines()) <= MAX_DECISION_LINES, page
        for heading in ("## Context", "## Choice", "## Consequence", "## Rejected"):
            assert heading in text, page


def test_the_changelog_has_this_version_or_what_will_become_it() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert f"## [{__version__}]" in changelog or "## [Unreleased]" in changelog
