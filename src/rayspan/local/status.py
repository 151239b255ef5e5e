"""A running local deployment: its pools, replicas, processes, ports, memory and KV in use."""

from collections.abc import Sequence
from dataclasses import dataclass

from rayspan.adapters import processes
from rayspan.adapters.replicas import ServeReplica, read_app
from rayspan.errors import WorldError
from rayspan.local.run_folder import Deployment, read_record, run_folder


@dataclass(frozen=True, slots=True)
class Replica:
    """One Serve replica and its engine.

    `pids`, as this machine counts them: the replica's process first, then the engine's.
    """

    role: str
    replica: str
    state: str
    node: str  # address
    pids: tuple[int, ...]
    ports: tuple[int, ...]
    memory_bytes: int
    kv_used: float | None  # share of the KV cache, 0 to 1


@dataclass(frozen=True, slots=True)
class Status:
    name: str
    api_base: str
    app_state: str
    message: str
    replicas: tuple[Replica, ...]
    memory_bytes: int  # of all processes of the deployment


def current_deployment() -> Deployment:
    """Raises WorldError when nothing is up."""
    record = read_record(run_folder())
    if record is None or not processes.is_alive(record.root_pid):
        raise WorldError("nothing is up on this machine", fix="start one with `rayspan up [SPEC]`")
    return record


def read_status(deployment: Deployment, kv_used: dict[str, float], memory: bool = True) -> Status:
    """`kv_used`: share of the KV cache in use by replica id, as far as it is known. Without
    `memory`, which takes a second to add up, sizes are zero."""
    app = read_app(deployment.dashboard)
    trees = {node.address: processes.tree(node.root_pid) for node in deployment.nodes}
    sizes = {pid: processes.pss_bytes(pid) for tree in trees.values() for pid in tree if memory}
    return Status(
        name=deployment.spec.name,
        api_base=deployment.api_base,
        app_state=app.state,
        message=app.message,
        replicas=tuple(
            _replica(found, trees.get(found.node, ()), sizes, kv_used) for found in app.replicas
        ),
        memory_bytes=sum(sizes.values()),
    )


def _replica(
    found: ServeReplica, tree: Sequence[int], sizes: dict[int, int], kv_used: dict[str, float]
) -> Replica:
    pids = [] if found.pid is None else _with_engine(found.pid, tree)
    listening = processes.listening_ports(pids).values()
    ports = sorted({port for those in listening for port in those})
    return Replica(
        role=found.role,
        replica=found.replica,
        state=found.state,
        node=found.node,
        pids=tuple(pids),
        ports=tuple(ports),
        memory_bytes=sum(sizes.get(pid, 0) for pid in pids),
        kv_used=kv_used.get(found.replica),
    )


def _with_engine(replica_pid: int, tree: Sequence[int]) -> list[int]:
    """The replica and its engine's processes: those of its node that write to the same log.

    Serve tells the pid that the replica has on its node, which may count for itself.
    """
    outside = next((pid for pid in tree if processes.own_pid(pid) == replica_pid), None)
    if outside is None or not (log := processes.output_file(outside)):
        return []
    others = [pid for pid in tree if pid != outside and processes.output_file(pid) == log]
    return [outside, *others]
