"""The setup of the environment, on a small tree, with the commands recorded instead of run."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tree import ROOT
from tools import bootstrap
from tools.bootstrap import GB, Layout, Row, Setup, SetupError, Stamps

FIND_PYTHON = ROOT / "tools" / "find-python"


class Recorded(Setup):
    """Runs nothing, and fails at the step whose command holds `fails_at`."""

    def __init__(self, layout: Layout, fails_at: str = "", cpu_builds: bool = False) -> None:
        super().__init__(layout, {bootstrap.SKIP_CHECKS: "1"})
        self.commands: list[str] = []
        self._fails_at, self._cpu_builds = fails_at, cpu_builds

    def _run(self, text: str, command: Sequence[str], allowed: Sequence[int] = (0,)) -> None:
        self.commands.append(" ".join(command))
        if self._fails_at and self._fails_at in self.commands[-1]:
            raise SetupError(text, fix="")

    def _reachable(self, dry_run: Sequence[str]) -> bool:
        return self._cpu_builds

    def ran(self, text: str) -> bool:
        return any(text in command for command in self.commands)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A copy of what decides over the environment, and a place for one."""
    shutil.copytree(ROOT / bootstrap.STACK, tmp_path / bootstrap.STACK)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return Layout(tmp_path, tmp_path / ".venv", Row.read(tmp_path))


def finished(layout: Layout) -> None:
    assert Recorded(layout).ensure(dev=True)


def change(path: Path) -> None:
    path.write_text(path.read_text() + "# changed\n")


def test_a_fresh_tree_gets_everything_with_hashes(layout: Layout) -> None:
    setup = Recorded(layout)
    assert setup.ensure(dev=True)
    for name in ("install", layout.row.id, f"{layout.row.id}-torch", "dev"):
        command = next(each for each in setup.commands if each.endswith(f"/{name}.txt"))
        assert "--require-hashes" in command
        assert "--only-binary :all:" in command
    assert setup.ran("-m venv")
    assert setup.ran("compileall")
    assert setup.ran("--no-build-isolation --editable")


def test_a_finished_tree_is_left_alone(layout: Layout) -> None:
    finished(layout)
    again = Recorded(layout)
    assert not again.ensure(dev=True)
    assert not again.commands


def test_tools_for_tests_come_only_when_asked_for(layout: Layout) -> None:
    setup = Recorded(layout)
    setup.ensure(dev=False)
    assert not setup.ran("dev.txt")


def test_new_tools_for_tests_leave_the_rest(layout: Layout) -> None:
    finished(layout)
    change(layout.requirements("dev"))
    again = Recorded(layout)
    assert again.ensure(dev=True)
    assert len(again.commands) == 1
    assert again.ran("dev.txt")


def test_a_new_pyproject_reinstalls_rayspan_alone(layout: Layout) -> None:
    finished(layout)
    change(layout.root / "pyproject.toml")
    again = Recorded(layout)
    assert again.ensure(dev=True)
    assert len(again.commands) == 1
    assert again.ran("--editable")


def test_other_requirements_start_anew(layout: Layout) -> None:
    finished(layout)
    left_over = layout.venv / "left-over"
    left_over.touch()
    change(layout.requirements(layout.row.id))
    again = Recorded(layout)
    assert again.ensure(dev=True)
    assert again.ran("-m venv")
    assert again.ran("dev.txt")
    assert not left_over.exists()


@pytest.mark.parametrize("step", ["-m venv", "-cpu.txt", "compileall", "--editable", "dev.txt"])
def test_a_failed_step_is_done_again_next_time(layout: Layout, step: str) -> None:
    with pytest.raises(SetupError):
        Recorded(layout, fails_at=step).ensure(dev=True)
    again = Recorded(layout)
    assert again.ensure(dev=True)
    assert again.ran(step)
    assert not Recorded(layout).ensure(dev=True)


def test_pytorchs_cpu_build_is_taken_where_it_can_be_reached(layout: Layout) -> None:
    setup = Recorded(layout, cpu_builds=True)
    setup.ensure(dev=False)
    assert setup.ran(f"--torch-backend cpu --no-deps torch=={layout.row.pins['torch']}")
    assert not setup.ran("-torch.txt")


def test_pypis_torch_is_taken_when_the_cpu_build_fails_half_way(layout: Layout) -> None:
    setup = Recorded(layout, cpu_builds=True, fails_at="--torch-backend")
    setup.ensure(dev=False)
    assert setup.ran("-torch.txt")


def test_an_environment_of_somebody_elses_is_not_touched(layout: Layout) -> None:
    theirs = layout.venv / "theirs"
    layout.venv.mkdir()
    theirs.touch()
    with pytest.raises(SetupError, match="was not made by this Makefile"):
        Recorded(layout).ensure(dev=False)
    assert theirs.exists()


def test_a_damaged_stamp_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "rayspan-setup.json").write_text("{")
    assert Stamps(tmp_path).read() == {}


def test_a_failing_command_is_a_setup_error(layout: Layout) -> None:
    layout.venv.mkdir()
    setup = Setup(layout, os.environ)
    with pytest.raises(SetupError, match="breaking failed with status 7; the reason is above"):
        setup._run("breaking", [sys.executable, "-c", "raise SystemExit(7)"])
    setup._run("bending", [sys.executable, "-c", "raise SystemExit(1)"], allowed=(0, 1))


def test_a_long_step_shows_that_it_goes_on(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layout.venv.mkdir()
    monkeypatch.setattr(bootstrap, "HEARTBEAT_S", 0.02)
    Setup(layout, os.environ)._run("waiting", [sys.executable, "-c", "import time; time.sleep(.2)"])
    assert "setup: waiting ..." in (shown := capsys.readouterr().err)
    assert "GB written" in shown


def test_what_leads_astray_is_dropped_and_registries_stay() -> None:
    kept = {"PATH": "p", "UV_DEFAULT_INDEX": "i", "PIP_INDEX_URL": "i", "HTTPS_PROXY": "h"}
    dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PIP_USER", "UV_TORCH_BACKEND", "UV_PYTHON")
    assert bootstrap.clean(kept | dict.fromkeys(dropped, "1")) == kept


def test_the_container_limit_counts_when_it_is_lower(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:       16777216 kB\nMemFree: 1 kB\n")
    assert bootstrap.memory_bytes(tmp_path, tmp_path) == 16 * 2**30
    (tmp_path / "memory.max").write_text("max\n")
    assert bootstrap.memory_bytes(tmp_path, tmp_path) == 16 * 2**30
    (tmp_path / "memory.max").write_text(f"{2**32}\n")
    assert bootstrap.memory_bytes(tmp_path, tmp_path) == 2**32


def test_too_little_memory_is_said_with_both_numbers(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "memory_bytes", lambda: 3 * GB)
    with pytest.raises(SetupError, match=r"need 7 GB of memory; this machine has 3\.0 GB"):
        bootstrap.check_platform(layout.row)


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "x86_64"), ("Linux", "aarch64")])
def test_another_platform_is_refused(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    with pytest.raises(SetupError, match=f"this is {system} {machine}"):
        bootstrap.check_platform(layout.row)


def test_too_little_disk_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"needs 1000000000 GB of free disk space; .* has"):
        bootstrap.check_disk(tmp_path / "not" / "there", 10**9)
    assert not (tmp_path / "not").exists()


def test_checks_can_be_skipped(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    Recorded(layout).ensure(dev=False)  # it sets the variable that skips them


def test_a_python_is_found() -> None:
    ran = subprocess.run([FIND_PYTHON], capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()).exists()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("echo 'pyenv: command not found' >&2; exit 127", "pyenv: command not found"),
        ('exec {python} -c "import sys; sys.version_info = (3, 10); $2"', "is 3.10"),
        ('exec {python} -c "import sys; sys.modules[\\"ensurepip\\"] = None; $2"', "apt install"),
    ],
)
def test_a_python_that_will_not_do_is_said_to_be_so(
    tmp_path: Path, answer: str, reason: str
) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text(f"#!/bin/sh\n{answer.format(python=sys.executable)}\n")
    shim.chmod(0o755)
    ran = subprocess.run([FIND_PYTHON, str(shim)], capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert reason in ran.stderr
    assert "fix: " in ran.stderr


def test_no_python_at_all_is_said_so() -> None:
    ran = subprocess.run([FIND_PYTHON, "pythonx"], capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert "pythonx: not found" in ran.stderr
