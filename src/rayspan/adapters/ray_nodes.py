"""The door to Ray's nodes: which are alive, and telling Ray that one will go."""

import subprocess
import sys

from rayspan.adapters.http import get_json
from rayspan.errors import WorldError

_PATIENCE_S = 60.0


def alive_nodes(dashboard: str) -> dict[str, str]:
    """Address to id of the nodes that Ray counts as alive; one that is new may not tell its own."""
    answer = get_json(f"{dashboard}/nodes?view=summary") or {}
    nodes = answer.get("data", {}).get("summary", [])
    alive = (node for node in nodes if node.get("raylet", {}).get("state") == "ALIVE")
    return {node["ip"]: str(node["raylet"]["nodeId"]) for node in alive if "ip" in node}


def drain_node(gcs_address: str, node_id: str, within_s: int) -> None:
    """Ray places nothing more on the node, and Serve moves its replicas, as before a preemption.

    Raises WorldError with Ray's words when it refuses.
    """
    command = [sys.executable, "-m", "ray.scripts.scripts", "drain-node"]
    options = {
        "address": gcs_address,
        "node-id": node_id,
        "reason": "DRAIN_NODE_REASON_PREEMPTION",
        "reason-message": "drained by rayspan",
        "deadline-remaining-seconds": within_s,
    }
    done = subprocess.run(  # noqa: S603  (Ray's own command line)
        [*command, *(f"--{name}={value}" for name, value in options.items())],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise WorldError(f"Ray does not drain node {node_id}: {words[-1]}")
