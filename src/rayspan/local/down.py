"""Ends a local deployment, whatever state it is in."""

from dataclasses import dataclass

from rayspan.adapters import processes
from rayspan.local import cluster
from rayspan.local.run_folder import read_record, run_folder


@dataclass(frozen=True, slots=True)
class Ended:
    """What `down` found. `hunted` counts processes that had lost the deployment's first process."""

    name: str | None
    hunted: int

    @property
    def nothing_was_up(self) -> bool:
        return self.name is None and self.hunted == 0


def down() -> Ended:
    """Leaves no process and no port of this user's deployment, also after a crash or `ray stop`."""
    folder = run_folder()
    record = read_record(folder)
    was_up = record is not None and processes.is_alive(record.root_pid)
    hunted = cluster.end_cluster(folder, record.root_pid if record else None)
    return Ended(record.spec.name if record and was_up else None, hunted)
