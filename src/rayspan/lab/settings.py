"""What each host of a lab is told: environment, and the settings of its Ray node. Pure."""

from pathlib import Path
from typing import Any, Final

from rayspan.lab.layout import HostPlan, LabOptions, Layout
from rayspan.lab.network import INTERFACE
from rayspan.lab.state import Lab, host_folder
from rayspan.local.run_folder import Node
from rayspan.render import Cluster
from rayspan.spec import Spec

_METRICS_PORT: Final = 8079
_AGENT_PORT: Final = 52365


def cluster_of(layout: Layout, options: LabOptions) -> Cluster:
    return Cluster(layout.head.address, interface_of(options))


def interface_of(options: LabOptions) -> str:
    return "lo" if options.isolation == "none" else INTERFACE


def metrics_port(plan: HostPlan) -> int:
    """One of its own on each host: Ray's agent opens it on every address."""
    return _METRICS_PORT + plan.index


def head_settings(spec: Spec, plan: HostPlan, seen: Path) -> dict[str, Any]:
    """As local/head.py reads it. `seen`: the host's folder as the host sees it."""
    target = spec.target
    return {
        "ray_settings": {
            "address": "local",
            "num_cpus": plan.cpus,
            "resources": plan.resources,
            "include_dashboard": True,
            "dashboard_host": plan.address,
            "dashboard_port": target.dashboard_port,
            "object_store_memory": int(target.object_store),
            "log_to_driver": False,
            "namespace": "serve",
            "_node_ip_address": plan.address,
            "_metrics_export_port": metrics_port(plan),
            "_temp_dir": str(seen / "ray"),
        },
        "serve_settings": {
            "proxy_location": "HeadOnly",
            "http_options": {"host": plan.address, "port": target.port},
        },
    }


def worker_settings(spec: Spec, plan: HostPlan, seen: Path) -> dict[str, Any]:
    """As lab/node.py reads it."""
    return {
        "address": plan.address,
        "cpus": plan.cpus,
        "resources": plan.resources,
        "object_store_memory": int(spec.target.object_store),
        "metrics_port": metrics_port(plan),
        "agent_port": _AGENT_PORT + plan.index,
        "temp_dir": str(seen / "ray"),
    }


def nodes_of(folder: Path, lab: Lab) -> tuple[Node, ...]:
    """All hosts as the nodes of the deployment's record, the head first."""
    return tuple(
        node_of(folder, plan, lab.pids[plan.name], lab.options) for plan in lab.layout.hosts
    )


def node_of(folder: Path, plan: HostPlan, pid: int, options: LabOptions) -> Node:
    """The host as a node of the deployment's record. Its newest Ray session holds its logs."""
    sessions = sorted(host_folder(folder, plan.name).glob("ray/session_2*"))
    return Node(
        name=plan.name,
        address=plan.address,
        root_pid=pid,
        metrics_url=f"http://{plan.address}:{metrics_port(plan)}/metrics",
        log_folder=(sessions[-1] if sessions else host_folder(folder, plan.name)) / "logs",
        interface=interface_of(options),
    )
