"""What commands share in printing: JSON on stdout, progress on stderr."""

import json
import sys
import time
from dataclasses import asdict, is_dataclass
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console

from rayspan.local.engine_logs import EngineProgress


def print_json(value: object) -> None:
    """A dataclass, mapping or list as one JSON document."""
    print(json.dumps(value, default=_plain, indent=2))


def warn(text: str) -> None:
    """On stderr, where it disturbs no result."""
    print(f"rayspan: warning: {text}", file=sys.stderr)


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Path | date):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class StepPrinter:
    """Progress on stderr: a line a finished step, and for engines the stage each one is in."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status = self._console.status("") if sys.stderr.isatty() else None
        self._step, self._began, self._shown = "", 0.0, ""

    def step(self, name: str) -> None:
        self._finish()
        self._step, self._began = name, time.monotonic()
        if self._status:
            self._status.start()
            self._status.update(name)
        else:
            self._console.print(f"{name} ...")

    def engines(self, engines: list[EngineProgress]) -> None:
        text = ", ".join(f"{e.role} {e.replica}: {e.stage}" for e in engines)
        if not text or text == self._shown:
            return
        self._shown = text
        if self._status:
            self._status.update(f"{self._step}: {text}")
        else:
            self._console.print(f"  {text}")

    def close(self) -> None:
        """Ends the last step; also after an error, so that the terminal is left clean."""
        self._finish()
        if self._status:
            self._status.stop()

    def _finish(self) -> None:
        if self._step and self._status:
            self._console.print(f"{self._step}: {time.monotonic() - self._began:.1f} s")
        self._step = ""
