"""The door to Serve's own account of a deployment: which replicas run, and on which node each."""

from dataclasses import dataclass
from typing import Any

from rayspan.adapters.http import Json, get_json
from rayspan.adapters.metrics import ROLES


@dataclass(frozen=True, slots=True)
class ServeReplica:
    """`pid` is the replica's process as its own node counts, `node` the node's address."""

    role: str
    replica: str
    state: str
    pid: int | None
    node: str


@dataclass(frozen=True, slots=True)
class ServeApp:
    state: str
    message: str
    replicas: tuple[ServeReplica, ...]


def read_app(dashboard: str) -> ServeApp:
    """State UNREACHABLE and no replicas when the dashboard does not answer."""
    return parse_app(get_json(f"{dashboard}/api/serve/applications/") or {})


def parse_app(answer: Json) -> ServeApp:
    """Reads the answer of Serve's REST interface; what is no engine pool is left out."""
    app = answer.get("applications", {}).get("default", {})
    found = [
        _replica(role, details)
        for name, deployment in app.get("deployments", {}).items()
        if (role := ROLES.get(name.partition(":")[0]))
        for details in deployment["replicas"]
    ]
    found.sort(key=lambda r: (r.role != "prefill", r.role, r.replica))
    return ServeApp(app.get("status", "UNREACHABLE"), app.get("message", ""), tuple(found))


def _replica(role: str, details: dict[str, Any]) -> ServeReplica:
    pid = details.get("pid")
    return ServeReplica(
        role=role,
        replica=str(details["replica_id"]),
        state=str(details["state"]),
        pid=pid if isinstance(pid, int) else None,
        node=str(details.get("node_ip") or ""),
    )
