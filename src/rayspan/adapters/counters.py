"""The door to byte counters of network devices: reads their files, and tells what they say.

What is read is the text of the files, so that a reading can be kept, and judged again.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from rayspan.errors import WorldError

Files = Mapping[str, str]
NET_DEV: Final = "net/dev"
INFINIBAND: Final = "infiniband"
_SENT_COLUMN: Final = 8


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes since the device came up."""

    received: float
    sent: float


class ByteCounters(Protocol):
    """What a device's counter files say."""

    @property
    def name(self) -> str: ...

    def traffic(self, files: Files) -> Traffic:
        """Raises WorldError when the files do not tell."""


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """The counter files of the node whose processes descend from `pid`: its network namespace is
    seen through that process, its devices through that process's own /sys. `root` is for tests.
    """

    pid: int
    root: Path = Path("/")

    def read(self) -> dict[str, str]:
        """Texts by a name that is the same on every node. Raises WorldError when it is gone."""
        process = self.root / "proc" / str(self.pid)
        try:
            files = {NET_DEV: (process / NET_DEV).read_text()}
        except OSError as error:
            raise WorldError(f"no network counters of process {self.pid}: {error}") from error
        devices = process / "root" / "sys" / "class" / INFINIBAND
        for path in _listed(devices, "*/ports/1/hw_counters/*"):
            with contextlib.suppress(OSError):  # some drivers list counters that cannot be read
                files[f"{INFINIBAND}/{path.relative_to(devices)}"] = path.read_text()
        return files


def _listed(folder: Path, pattern: str) -> list[Path]:
    """None where another user's process keeps its folders to itself."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """An interface of /proc/net/dev, which counts whole frames."""

    name: str

    def traffic(self, files: Files) -> Traffic:
        for line in files.get(NET_DEV, "").splitlines():
            interface, colon, numbers = line.partition(":")
            if colon and interface.strip() == self.name:
                columns = numbers.split()
                return Traffic(float(columns[0]), float(columns[_SENT_COLUMN]))
        raise WorldError(f"there is no network interface {self.name}")


@dataclass(frozen=True, slots=True)
class EfaDevices:
    """All EFA devices of a node together. A pull is a read by the decode engine: its device counts
    `rdma_read_bytes`, the other side's `rdma_read_resp_bytes`.

    The names are those of the kernel's drivers/infiniband/hw/efa/efa_verbs.c. Whether the second
    counts what a device sent in answer to reads, as it says there, or what it received, as AWS's
    pages say, has not been seen on hardware.
    """

    name: str = "EFA"

    def traffic(self, files: Files) -> Traffic:
        return Traffic(
            self._sum(files, "rdma_read_bytes"), self._sum(files, "rdma_read_resp_bytes")
        )

    def _sum(self, files: Files, counter: str) -> float:
        found = [
            float(text)
            for name, text in files.items()
            if name.startswith(f"{INFINIBAND}/") and name.endswith(f"/hw_counters/{counter}")
        ]
        if not found:
            raise WorldError(f"there is no {counter} counter of an EFA device")
        return sum(found)
