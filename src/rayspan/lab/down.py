"""Removes a lab, whatever state it is in: hosts, network, folder."""

from dataclasses import dataclass
from pathlib import Path

from rayspan.adapters import processes
from rayspan.errors import WorldError
from rayspan.lab import network
from rayspan.lab.state import read_lab
from rayspan.local import cluster
from rayspan.local.run_folder import read_root_pid, run_folder


@dataclass(frozen=True, slots=True)
class Removed:
    """`network`: names of the namespaces and the bridge that were there."""

    hosts: int
    network: tuple[str, ...]
    hunted: int  # processes that had lost their host

    @property
    def nothing_was_up(self) -> bool:
        return not (self.hosts or self.network or self.hunted)


def lab_down() -> Removed:
    """Leaves no process, no namespace and no bridge of this user's lab."""
    return remove_lab(run_folder())


def remove_lab(folder: Path) -> Removed:
    lab = read_lab(folder)
    pids = list(lab.pids.values()) if lab else []
    alive = [pid for pid in pids if _belongs(pid, folder)]
    processes.kill_all(alive)
    hunted = cluster.end_cluster(folder, read_root_pid(folder))
    isolated = lab is not None and lab.options.isolation != "none"
    removed = network.remove(lab.options.label) if lab and isolated else []
    return Removed(len(alive), tuple(removed), hunted)


def _belongs(pid: int, folder: Path) -> bool:
    """A recorded pid may have been given to another process since."""
    return processes.is_alive(pid) and pid in processes.holders_of(folder)


def remove_leftovers(label: str) -> None:
    """What a killed lab left of its network. Raises WorldError when another lab is live on it."""
    for name in network.leftovers(label):
        if name != label and (pids := network.members(name)):
            raise WorldError(
                f"another lab is up on this machine: {name} holds process {pids[0]}",
                fix="end it with `rayspan lab down` and its RAYSPAN_RUN_DIR",
            )
    network.remove(label)
