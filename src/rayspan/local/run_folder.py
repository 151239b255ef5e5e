"""Where a local deployment keeps its sockets, logs and record: one folder, one deployment a user.

It must be short, for a socket's path holds 107 bytes and Ray puts its own below it.
"""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayspan.errors import WorldError
from rayspan.spec import Spec

VARIABLE = "RAYSPAN_RUN_DIR"
_RECORD, _ROOT_PID = "deployment.json", "root.pid"
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Deployment:
    """A local deployment as `up` left it. `model_folder`: what engines load, a folder or hub id."""

    spec: Spec
    root_pid: int
    model_folder: str
    api_base: str
    dashboard: str
    metrics_urls: tuple[str, ...]
    log_folder: Path


def run_folder() -> Path:
    """Raises WorldError when $RAYSPAN_RUN_DIR is too long for the sockets below it."""
    default = Path(tempfile.gettempdir()) / f"rayspan-{os.getuid()}"
    folder = Path(os.environ.get(VARIABLE, default)).absolute()
    if len(str(folder)) > _LONGEST:
        raise WorldError(
            f"the run folder {folder} is {len(str(folder))} characters long; "
            f"sockets below it allow {_LONGEST}",
            fix=f"set {VARIABLE} to a shorter path",
        )
    return folder


def write_record(folder: Path, deployment: Deployment) -> None:
    """Whole or not at all."""
    record = {
        "spec": deployment.spec.model_dump(mode="json"),
        "root_pid": deployment.root_pid,
        "model_folder": deployment.model_folder,
        "api_base": deployment.api_base,
        "dashboard": deployment.dashboard,
        "metrics_urls": list(deployment.metrics_urls),
        "log_folder": str(deployment.log_folder),
    }
    partial = folder / f"{_RECORD}.partial"
    partial.write_text(json.dumps(record))
    partial.rename(folder / _RECORD)


def write_root_pid(folder: Path, pid: int) -> None:
    """Known from the start, and to any version of rayspan: `down` needs no more."""
    (folder / _ROOT_PID).write_text(str(pid))


def read_root_pid(folder: Path) -> int | None:
    """None when nothing was started there."""
    try:
        return int((folder / _ROOT_PID).read_text())
    except (FileNotFoundError, ValueError):
        return None


def read_record(folder: Path) -> Deployment | None:
    """None when no deployment came up there.

    Raises WorldError when it was written by another version of rayspan.
    """
    try:
        return _parse(json.loads((folder / _RECORD).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise WorldError(
            f"{folder / _RECORD} was written by another version of rayspan",
            fix="end that deployment with `rayspan down`",
        ) from error


def _parse(record: dict[str, Any]) -> Deployment:
    return Deployment(
        spec=Spec.model_validate(record["spec"]),
        root_pid=record["root_pid"],
        model_folder=record["model_folder"],
        api_base=record["api_base"],
        dashboard=record["dashboard"],
        metrics_urls=tuple(record["metrics_urls"]),
        log_folder=Path(record["log_folder"]),
    )
