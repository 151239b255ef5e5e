"""Ends a local deployment, whatever state it is in."""

from dataclasses import dataclass

from rayspan.adapters import processes
from rayspan.local import cluster
from rayspan.local.run_folder import read_root_pid, run_folder


@dataclass(frozen=True, slots=True)
class Ended:
    """What `down` found. `hunted` counts processes that had lost the deployment's first process."""

    was_up: bool
    hunted: int

    @property
    def nothing_was_up(self) -> bool:
        return not self.was_up and self.hunted == 0


def down() -> Ended:
    """Leaves no process and no port of this user's deployment, also after a crash or `ray stop`."""
    folder = run_folder()
    root = read_root_pid(folder)
    was_up = root is not None and processes.is_alive(root)
    return Ended(was_up, cluster.end_cluster(folder, root))
