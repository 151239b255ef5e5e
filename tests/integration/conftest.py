"""One running stack for the whole session, swapped only when a test needs another spec."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rayspan.local.run_folder import VARIABLE, Deployment, read_record

HERE = Path(__file__).parent
RAYSPAN = Path(sys.executable).with_name("rayspan")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folder sets the marker."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.integration)


@dataclass
class Stack:
    """Runs the command line in a run folder of its own, at most one deployment at a time."""

    folder: Path
    serving: str | None = None  # the spec that is up; "" is the built-in one
    env: dict[str, str] = field(default_factory=dict)

    def run(
        self, *arguments: str, check: bool = False, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """`rayspan` with `arguments`."""
        return subprocess.run(
            [RAYSPAN, *arguments],
            env={**os.environ, VARIABLE: str(self.folder), "HF_HUB_OFFLINE": "1", **(env or {})},
            capture_output=True,
            text=True,
            timeout=400,
            check=check,
        )

    def serve(self, spec: str = "", env: dict[str, str] | None = None) -> Deployment:
        """The deployment of the spec text `spec`, brought up unless it is."""
        key = spec + repr(sorted((env or {}).items()))
        if self.serving != key:
            self.down()
            arguments = ["up", "--detach"]
            if spec:
                path = self.folder.with_name(f"{self.folder.name}-spec.yaml")
                path.write_text(spec)
                arguments.append(str(path))
            result = self.run(*arguments, env=env)
            assert result.returncode == 0, result.stdout + result.stderr
            self.serving = key
        record = read_record(self.folder)
        assert record
        return record

    def down(self) -> None:
        self.run("down", check=True)
        self.serving = None


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    stack = Stack(Path(f"/tmp/rsit-{os.getpid()}"))
    yield stack
    stack.down()


@pytest.fixture
def deployment(stack: Stack) -> Deployment:
    """The built-in spec: one prefill and one decode engine."""
    return stack.serve()
