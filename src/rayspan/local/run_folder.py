"""Where a local deployment keeps its sockets, logs and record: one folder, one deployment a user.

It must be short, for a socket's path holds 107 bytes and Ray puts its own below it.
"""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rayspan.errors import WorldError
from rayspan.spec import Spec

VARIABLE = "RAYSPAN_RUN_DIR"
_RECORD, _ROOT_PID = "deployment.json", "root.pid"
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Node:
    """One Ray node of a deployment, as this machine sees it.

    `root_pid` is the process that all others of the node descend from; `interface` is the network
    interface that holds `address`, by its name on the node.
    """

    name: str
    address: str
    root_pid: int
    metrics_url: str
    log_folder: Path
    interface: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment as `up` left it, its head node first.

    `model_folder`: what engines load, a folder or hub id.
    """

    spec: Spec
    model_folder: str
    api_base: str
    dashboard: str
    nodes: tuple[Node, ...]

    @property
    def root_pid(self) -> int:
        """The deployment is up as long as this process of its head lives."""
        return self.nodes[0].root_pid

    @property
    def metrics_urls(self) -> tuple[str, ...]:
        return tuple(node.metrics_url for node in self.nodes)

    @property
    def log_folders(self) -> tuple[Path, ...]:
        return tuple(node.log_folder for node in self.nodes)


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
        "model_folder": deployment.model_folder,
        "api_base": deployment.api_base,
        "dashboard": deployment.dashboard,
        "nodes": [asdict(n) | {"log_folder": str(n.log_folder)} for n in deployment.nodes],
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
        model_folder=record["model_folder"],
        api_base=record["api_base"],
        dashboard=record["dashboard"],
        nodes=tuple(Node(**n | {"log_folder": Path(n["log_folder"])}) for n in record["nodes"]),
    )
