"""Rows of versions that are used together, read from `lock.toml`: they stand nowhere else."""

import datetime as dt
import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from rayspan.errors import InputError

Device = Literal["cpu", "cuda"]
Status = Literal["validated", "candidate", "broken"]


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution on PyPI. Without a version it is pinned by the requirement files alone."""

    name: str
    version: str | None = None
    extras: tuple[str, ...] = ()

    def requirement(self) -> str:
        """As pip reads it."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}" + (f"=={self.version}" if self.version else "")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A distribution that others ask for and that this row does without."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A defect of this set of versions, and what to do instead."""

    what: str
    instead: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a GPU row needs from an image and a cluster, beside Python packages."""

    cuda: str
    driver_floor: str  # branch of NVIDIA's driver
    efa_installer: str
    libfabric: str
    aws_ofi_nccl: str
    kuberay: str


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    device: Device
    status: Status
    date: dt.date
    evidence: str
    python: tuple[str, ...]  # minor versions, oldest first
    glibc: str  # the oldest that the wheels run on
    packages: tuple[Package, ...]
    leave_out: tuple[LeftOut, ...]
    broken: tuple[Broken, ...]
    cluster: Cluster | None = None

    def version(self, package: str) -> str:
        """The version of a distribution that the row names. Raises KeyError for any other."""
        versions = {each.name: each.version for each in self.packages}
        if (found := versions.get(package)) is None:
            raise KeyError(f"row {self.id} names no version of {package}")
        return found


def all_rows() -> tuple[Row, ...]:
    return tuple(_rows().values())


def find_row(row_id: str) -> Row:
    """Raises InputError, with the nearest known ids, for an id that no row has."""
    rows = _rows()
    if row_id in rows:
        return rows[row_id]
    near = difflib.get_close_matches(row_id, rows, n=1, cutoff=0.5)
    raise InputError(
        f"stack {row_id!r} is not known; known: {', '.join(rows)}",
        fix=f"did you mean {near[0]!r}?" if near else "choose a known one or leave it out",
    )


def default_row(device: Device) -> Row:
    """The row for a spec that names none."""
    return _rows()[_lock()["default"][device]]


def parse_row(table: Mapping[str, Any]) -> Row:
    """A row from its TOML table. Raises TypeError or KeyError for a missing or unknown field."""
    fields = {name: value for name, value in table.items() if name not in _NESTED}
    return Row(
        **{**fields, "python": tuple(table["python"])},
        packages=tuple(_package(each) for each in table["packages"]),
        leave_out=tuple(LeftOut(**each) for each in table.get("leave_out", ())),
        broken=tuple(Broken(**each) for each in table.get("broken", ())),
        cluster=Cluster(**table["cluster"]) if "cluster" in table else None,
    )


# `install` is read by tools/bootstrap.py, which runs before anything is installed.
_NESTED = {"packages", "leave_out", "broken", "cluster", "install"}


def _package(table: Mapping[str, Any]) -> Package:
    return Package(**{**table, "extras": tuple(table.get("extras", ()))})


@cache
def _lock() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("lock.toml").read_text())


@cache
def _rows() -> dict[str, Row]:
    return {table["id"]: parse_row(table) for table in _lock()["row"]}
