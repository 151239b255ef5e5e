"""Faults a lab can be given, and their repair."""

import shutil
import time
from dataclasses import replace

from rayspan.adapters import processes
from rayspan.adapters.ray_nodes import alive_nodes, drain_node
from rayspan.errors import InputError, WorldError
from rayspan.lab import network
from rayspan.lab.layout import HostPlan
from rayspan.lab.settings import nodes_of
from rayspan.lab.state import Lab, current_lab, host_folder
from rayspan.lab.up import deploy, head_of, join_one, start_one
from rayspan.local.run_folder import run_folder, write_record, write_root_pid

_END_S = 10.0


def cut(one: str, other: str) -> None:
    """What two hosts send each other gets lost, until it is healed."""
    network.cut(*_ends(one, other))


def heal(one: str, other: str) -> None:
    network.heal(*_ends(one, other))


def _ends(one: str, other: str) -> tuple[HostPlan, HostPlan]:
    """Raises WorldError where hosts are plain processes, which share their links."""
    lab, _deployment = current_lab()
    if lab.options.isolation == "none":
        raise WorldError(
            "this lab's hosts are plain processes: there is no link to cut",
            fix="run it as root, without `--isolation none`",
        )
    if one == other:
        raise InputError(f"found {one!r} twice, allowed: two different hosts")
    return lab.layout.host(one), lab.layout.host(other)


def kill(host: str) -> None:
    """Ends a whole host at once, as a power cut does."""
    lab, _deployment = current_lab()
    lab.layout.host(host)
    pid = lab.pids[host]
    if not processes.is_alive(pid):
        raise WorldError(f"{host} is down already", fix=f"`rayspan lab return {host}` starts it")
    processes.kill_tree(pid)


def drain(host: str, within_s: int) -> None:
    """Tells Ray that a host will go within so many seconds; ending it is the caller's part."""
    lab, deployment = current_lab()
    plan = lab.layout.host(host)
    if plan.is_head:
        raise InputError("found the head, allowed: a worker; all ends with the head")
    node = alive_nodes(deployment.dashboard).get(plan.address)
    if node is None:
        raise WorldError(f"{host} is not in the cluster", fix="`rayspan lab status` shows hosts")
    drain_node(head_of(run_folder(), lab).gcs_address, node, within_s)


def give_back(host: str) -> None:
    """Starts a killed host again, under its address; a head starts a new cluster with the spec,
    which the workers then join."""
    folder = run_folder()
    lab, deployment = current_lab()
    plan = lab.layout.host(host)
    if processes.is_alive(lab.pids[host]):
        raise WorldError(f"{host} is up", fix=f"`rayspan lab kill {host}` ends it")
    if not plan.is_head:
        lab = _start_again(lab, plan)
        join_one(folder, lab, plan, head_of(folder, lab))
    else:
        for worker in lab.layout.hosts[1:]:
            processes.kill_tree(lab.pids[worker.name])
        for each in lab.layout.hosts:
            lab = _start_again(lab, each)
        write_root_pid(folder, lab.pids[host])
        head = head_of(folder, lab)
        for worker in lab.layout.hosts[1:]:
            join_one(folder, lab, worker, head)
        deploy(lab, deployment.model_folder, head, folder)
    write_record(folder, replace(deployment, nodes=nodes_of(folder, lab)))


def _start_again(lab: Lab, plan: HostPlan) -> Lab:
    """A host that was down has no memory of the cluster it belonged to."""
    folder = run_folder()
    own = host_folder(folder, plan.name)
    deadline = time.monotonic() + _END_S
    while processes.is_alive(lab.pids[plan.name]) and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(own, ignore_errors=True)
    return start_one(folder, lab, plan)
