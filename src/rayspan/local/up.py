"""Brings a spec up on this machine: checks, model, cluster, engines, record."""

from pathlib import Path

from rayspan.local import cluster, host, model_source
from rayspan.local.environment import (
    check_stack_installed,
    cluster_environment,
    head_settings,
    shared_environment,
)
from rayspan.local.run_folder import Deployment, Node, run_folder, write_record
from rayspan.local.starting import Progress, keep_logs, only_one, wait_for_engines
from rayspan.render import render_serve_config
from rayspan.spec import Spec

_LOOPBACK = "127.0.0.1"


def up(spec: Spec, progress: Progress, preload: bool = True) -> Deployment:
    """Starts `spec` and returns once Serve reports it running.

    On any error, and when interrupted, everything started is ended first. Raises WorldError when
    the machine cannot hold it, something is in the way, or an engine dies; InputError for a bad
    model folder.
    """
    folder = run_folder()
    check_stack_installed()
    with only_one(folder):
        progress.step("checking this machine")
        host.check_disk(folder)
        host.check_nodes(spec)
        host.check_ports(spec)
        progress.step("preparing the model")
        model = model_source.resolve_model(spec)
        host.check_cpu(spec, model)
        host.check_memory(spec, model)
        try:
            return _start(spec, model, folder, progress, preload and spec.target.device == "cpu")
        except BaseException:
            keep_logs(folder)
            cluster.end_cluster(folder, root_pid=None)
            raise


def _start(spec: Spec, model: str, folder: Path, progress: Progress, preload: bool) -> Deployment:
    progress.step("starting Ray")
    config = render_serve_config(spec, model_source=model).to_dict()
    env = cluster_environment(spec, shared_environment(config), alone=True)
    root = cluster.start_root(folder, env, head_settings(spec, folder), preload)
    try:
        head = cluster.wait_for_head(folder, root)
        progress.step("starting engines")
        cluster.deploy(head.dashboard, config, folder if preload else None)
        wait_for_engines(head.dashboard, [head.log_folder], [root], progress)
    except BaseException:
        keep_logs(folder)
        cluster.end_cluster(folder, root)
        raise
    deployment = Deployment(
        spec=spec,
        model_folder=model,
        api_base=f"http://{spec.target.host}:{spec.target.port}",
        dashboard=head.dashboard,
        nodes=(Node("head", _LOOPBACK, root, head.metrics_url, head.log_folder, "lo"),),
    )
    write_record(folder, deployment)
    return deployment
