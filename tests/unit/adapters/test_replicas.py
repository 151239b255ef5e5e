"""Serve's account of a deployment, as its REST interface gives it."""

from typing import Any

from rayspan.adapters.replicas import ServeReplica, parse_app


def replica(name: str, state: str = "RUNNING", **more: Any) -> dict[str, Any]:
    return {"replica_id": name, "state": state, "pid": 7, "node_ip": "10.0.0.2", **more}


def test_engines_are_told_by_role_and_node() -> None:
    deployments = {
        "Decode:m": {"replicas": [replica("d1"), replica("d0", pid=None, node_ip=None)]},
        "Prefill:m": {"replicas": [replica("p0", "STARTING")]},
        "PrefillDecodeIngress": {"replicas": [replica("i0")]},
    }
    app = parse_app(
        {"applications": {"default": {"status": "RUNNING", "deployments": deployments}}}
    )
    assert app.replicas == (
        ServeReplica("prefill", "p0", "STARTING", 7, "10.0.0.2"),
        ServeReplica("decode", "d0", "RUNNING", None, ""),
        ServeReplica("decode", "d1", "RUNNING", 7, "10.0.0.2"),
    )


def test_no_answer_is_no_replica() -> None:
    app = parse_app({})
    assert (app.state, app.replicas) == ("UNREACHABLE", ())
