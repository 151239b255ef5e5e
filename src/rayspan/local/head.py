"""The process that holds a local Ray cluster: it starts Ray and Serve, says where, and waits.

`ray start --head` would do, but it also opens Ray's client server, which cannot be turned off
there and listens on every interface. Settings are read from `head-settings.json`; `head.json`
appears when Serve is up.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil

from rayspan.local.preload.root import ENGINE_ENVIRONMENT

HEAD = "rayspan.local.head"
SETTINGS, FACTS = "head-settings.json", "head.json"


def hold(folder: Path, ray_settings: dict[str, Any], serve_settings: dict[str, Any]) -> None:
    """Keywords of `ray.init` and of `serve.start`."""
    import ray
    from ray import serve

    context = ray.init(**ray_settings)
    raylet = next(p.pid for p in psutil.Process().children(recursive=True) if p.name() == "raylet")
    job = ray.get_runtime_context().get_job_id()
    write_engine_environment(folder, job, raylet)
    serve.start(**serve_settings)
    addresses, address = context.address_info, ray_settings["_node_ip_address"]
    facts = {
        "pid": os.getpid(),
        "dashboard": f"http://{context.dashboard_url}",
        "gcs_address": addresses["gcs_address"],
        "log_folder": f"{addresses['session_dir']}/logs",
        "metrics_url": f"http://{address}:{addresses['metrics_export_port']}/metrics",
        "job_id": job,
    }
    _write(folder / FACTS, facts)
    signal.pause()


def write_engine_environment(folder: Path, job: str, raylet: int) -> None:
    """What a process must know before it imports Ray: the preloaded engines wait for it."""
    _write(folder / ENGINE_ENVIRONMENT, {"RAY_JOB_ID": job, "RAY_RAYLET_PID": str(raylet)})


def _write(path: Path, facts: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(facts))
    partial.rename(path)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    run_folder = Path(sys.argv[1])
    hold(run_folder, **json.loads((run_folder / SETTINGS).read_text()))
