"""Brings up a lab: network, head, workers, the spec on them, the record."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from rayspan.adapters import processes
from rayspan.adapters.ray_nodes import alive_nodes
from rayspan.errors import InputError, WorldError
from rayspan.lab import down, network
from rayspan.lab.host import start_host
from rayspan.lab.layout import HostPlan, LabOptions, Layout, lay_out
from rayspan.lab.node import JOIN
from rayspan.lab.settings import cluster_of, head_settings, nodes_of, worker_settings
from rayspan.lab.state import Lab, host_folder, write_lab
from rayspan.local import cluster, host, model_source
from rayspan.local.environment import (
    check_stack_installed,
    cluster_environment,
    shared_environment,
)
from rayspan.local.run_folder import Deployment, run_folder, write_record, write_root_pid
from rayspan.local.starting import Progress, keep_logs, only_one, wait_for_engines, where_logs
from rayspan.render import render_serve_config
from rayspan.spec import Spec

_JOIN_S = 120.0
_POLL_S = 0.1


def lab_up(
    spec: Spec,
    options: LabOptions,
    progress: Progress,
    warn: Callable[[str], None],
    folder: Path | None = None,
) -> Deployment:
    """Starts the hosts and runs `spec` on them as on a cluster.

    Falls back to plain processes, with a warning, where the kernel refuses namespaces. On any
    error, and when interrupted, the whole lab is removed first. Raises InputError for a spec that
    does not fit the lab, WorldError for what the machine cannot do. `folder`: the run folder, the
    user's own when left out.
    """
    folder = folder or run_folder()
    check_stack_installed()
    _check_device(spec)
    layout = lay_out(spec, options)
    with only_one(folder):
        progress.step("checking this machine")
        options = _possible(options, warn)
        layout = lay_out(spec, options)
        host.check_disk(folder)
        progress.step("preparing the model")
        model = model_source.resolve_model(spec)
        host.check_cpu(spec, model)
        host.check_memory(spec, model)
        if options.isolation != "none":
            down.remove_leftovers(options.label)
            network.check_free(options.subnet)
        try:
            return _start(folder, Lab(options, spec), layout, model, progress)
        except BaseException:
            keep_logs(folder)
            down.remove_lab(folder)
            raise


def _check_device(spec: Spec) -> None:
    if spec.target.device != "cpu":
        raise InputError(
            f"target.device: found {spec.target.device}, allowed in a lab: cpu",
            fix="a lab's hosts share this machine's devices; write device: cpu",
        )


def _possible(options: LabOptions, warn: Callable[[str], None]) -> LabOptions:
    if options.isolation == "none":
        return options
    if not (reason := network.why_refused()):
        return options
    warn(f"this machine refuses namespaces ({reason}): plain processes on 127.0.0.x instead")
    return LabOptions(workers=options.workers, isolation="none")


def _start(folder: Path, lab: Lab, layout: Layout, model: str, progress: Progress) -> Deployment:
    progress.step(f"building {len(layout.hosts)} hosts")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_lab(folder, lab)
    if lab.options.isolation != "none":
        network.build(layout, lab.options)
    for plan in layout.hosts:
        lab = start_one(folder, lab, plan)
    write_root_pid(folder, lab.pids[layout.head.name])
    progress.step("starting Ray")
    head = head_of(folder, lab)
    for plan in layout.hosts[1:]:
        join_one(folder, lab, plan, head)
    progress.step("starting engines")
    deploy(lab, model, head, folder)
    nodes = nodes_of(folder, lab)
    folders = [node.log_folder for node in nodes]
    wait_for_engines(head.dashboard, folders, list(lab.pids.values()), progress)
    api_base = f"http://{layout.head.address}:{lab.spec.target.port}"
    deployment = Deployment(lab.spec, model, api_base, head.dashboard, nodes)
    write_record(folder, deployment)
    return deployment


def start_one(folder: Path, lab: Lab, plan: HostPlan) -> Lab:
    """Starts one host, and records its process."""
    own = host_folder(folder, plan.name)
    seen = own if lab.options.isolation == "none" else folder
    settings = head_settings if plan.is_head else worker_settings
    config = render_serve_config(lab.spec, "", cluster_of(lab.layout, lab.options)).to_dict()
    env = cluster_environment(lab.spec, shared_environment(config), alone=False)
    isolation = lab.options.isolation
    pid = start_host(folder, plan, isolation, env, settings(lab.spec, plan, seen))
    lab = lab.with_host(plan.name, pid)
    write_lab(folder, lab)
    return lab


def head_of(folder: Path, lab: Lab) -> cluster.Head:
    """The head's facts, once Ray and Serve are up on it."""
    plan = lab.layout.head
    return cluster.wait_for_head(host_folder(folder, plan.name), lab.pids[plan.name])


def join_one(folder: Path, lab: Lab, plan: HostPlan, head: cluster.Head) -> None:
    """Tells a worker where the cluster is. Raises WorldError when it never joins."""
    own = host_folder(folder, plan.name)
    facts = {"gcs_address": head.gcs_address, "job_id": head.job_id}
    partial = own / f"{JOIN}.partial"
    partial.write_text(json.dumps(facts))
    partial.rename(own / JOIN)
    deadline = time.monotonic() + _JOIN_S
    while plan.address not in alive_nodes(head.dashboard):
        if not processes.is_alive(lab.pids[plan.name]):
            raise WorldError(f"{plan.name} ended before it joined: {_last_words(own)}")
        if time.monotonic() > deadline:
            raise WorldError(
                f"{plan.name} did not join within {_JOIN_S:.0f} s: {_last_words(own)}",
                fix=where_logs(),
            )
        time.sleep(_POLL_S)


def _last_words(own: Path) -> str:
    lines = (own / "head.log").read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it left no log"


def deploy(lab: Lab, model: str, head: cluster.Head, folder: Path) -> None:
    """Hands the spec to Serve, with the placement of a cluster."""
    config = render_serve_config(lab.spec, model, cluster_of(lab.layout, lab.options)).to_dict()
    preloaded = None if lab.options.isolation == "none" else folder
    cluster.deploy(head.dashboard, config, preloaded)
