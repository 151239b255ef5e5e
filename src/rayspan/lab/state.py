"""What is known of the lab on this machine: its options, and the process that holds each host."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rayspan.errors import WorldError
from rayspan.lab.layout import LabOptions, Layout, lay_out
from rayspan.local.run_folder import Deployment, read_record, run_folder
from rayspan.spec import Spec

_RECORD = "lab.json"


@dataclass(frozen=True, slots=True)
class Lab:
    """`pids`: host name to the process of this machine that a whole host ends with."""

    options: LabOptions
    spec: Spec
    pids: dict[str, int] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        return lay_out(self.spec, self.options)

    def with_host(self, name: str, pid: int) -> "Lab":
        return replace(self, pids={**self.pids, name: pid})


def host_folder(folder: Path, name: str) -> Path:
    """Where this machine sees what a host has in its run folder."""
    return folder / "hosts" / name


def write_lab(folder: Path, lab: Lab) -> None:
    """Whole or not at all."""
    record = {
        "options": asdict(lab.options),
        "spec": lab.spec.model_dump(mode="json"),
        "pids": lab.pids,
    }
    partial = folder / f"{_RECORD}.partial"
    partial.write_text(json.dumps(record))
    partial.rename(folder / _RECORD)


def read_lab(folder: Path) -> Lab | None:
    """None when no lab was started there, or another version of rayspan started it."""
    try:
        record = json.loads((folder / _RECORD).read_text())
        return Lab(
            LabOptions(**record["options"]), Spec.model_validate(record["spec"]), record["pids"]
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def lab_of(deployment: Deployment) -> Lab | None:
    """The lab that a deployment of this user runs in, if it runs in one."""
    lab = read_lab(run_folder())
    return lab if lab and deployment.root_pid in lab.pids.values() else None


def current_lab() -> tuple[Lab, Deployment]:
    """Raises WorldError when no lab is up."""
    folder = run_folder()
    lab, deployment = read_lab(folder), read_record(folder)
    if lab is None or deployment is None:
        raise WorldError("no lab is up on this machine", fix="start one with `rayspan lab up`")
    return lab, deployment
