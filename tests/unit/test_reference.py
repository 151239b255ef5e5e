from collections.abc import Callable

import pytest

from tools.gen_reference import HOME, PAGES


@pytest.mark.parametrize(("name", "page"), PAGES.items())
def test_generated_pages_are_up_to_date(name: str, page: Callable[[], str]) -> None:
    assert (HOME / name).read_text() == page(), "run python tools/gen_reference.py"
