"""The packaged names of vLLM's arguments are those of the installed vLLM."""

from pathlib import Path

import pytest

from rayspan.spec import engine_arguments as ours
from rayspan.spec.rules import _MUST_AGREE
from tools import gen_engine_arguments as tool


def test_names_are_those_of_the_installed_vllm() -> None:
    if (package := tool.vllm_folder()) is None:
        pytest.skip("vLLM is not installed")
    wanted = tool.engine_arguments_text(package)
    assert tool.HOME.read_text() == wanted, "run python tools/gen_engine_arguments.py"


def test_the_tool_reads_fields_and_no_more(tmp_path: Path) -> None:
    cli = tmp_path / "entrypoints/openai/cli_args.py"
    args = tmp_path / "engine/arg_utils.py"
    for path in (cli, args):
        path.parent.mkdir(parents=True)
    args.write_text(
        "class EngineArgs:\n    model: str = ''\n    _x: ClassVar[int] = 1\n    def f(self): ...\n"
        "class AsyncEngineArgs(EngineArgs):\n    log: bool = False\n"
    )
    cli.write_text(
        "class BaseFrontendArgs:\n    chat_template: str\n"
        "class FrontendArgs(BaseFrontendArgs):\n    port: int = 8000\n"
        "    enable_flash_late_interaction: bool = True\n"
    )
    assert tool.engine_arguments(tmp_path) == {
        "engine": ["log", "model"],
        "frontend": ["chat_template", "enable_flash_late_interaction"],
        "server": ["port"],
    }


@pytest.mark.parametrize("name", [*ours._OWNED, *ours._REFUSED, *_MUST_AGREE])
def test_what_rules_name_exists(name: str) -> None:
    assert name in ours._names()["engine"] | ours._names()["frontend"]


@pytest.mark.parametrize("name", _MUST_AGREE)
def test_what_must_agree_may_be_given(name: str) -> None:
    assert ours.is_engine_argument(name)
