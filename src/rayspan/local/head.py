"""The process that holds a local Ray cluster: it starts Ray and Serve, says where, and waits.

`ray start --head` would do, but it also opens Ray's client server, which cannot be turned off there and
listens on every interface.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil

from rayspan.local.preload.root import ENGINE_ENVIRONMENT


def hold(folder: Path, ray_settings: dict[str, Any], serve_settings: dict[str, Any]) -> None:
    """Starts Ray and Serve with keywords of `ray.init` and `serve.start`; writes `head.json` when up."""
    import ray
    from ray import serve

    context = ray.init(**ray_settings)
    raylet = next(p.pid for p in psutil.Process().children(recursive=True) if p.name() == "raylet")
    job = ray.get_runtime_context().get_job_id()
    _write(folder / ENGINE_ENVIRONMENT, {"RAY_JOB_ID": job, "RAY_RAYLET_PID": str(raylet)})
    serve.start(**serve_settings)
    facts = {
        "pid": os.getpid(),
        "gcs_address": context.address_info["gcs_address"],
        "dashboard": f"http://{context.dashboard_url}",
        "session_dir": context.address_info["session_dir"],
        "metrics_port": context.address_info["metrics_export_port"],
    }
    _write(folder / "head.json", facts)
    signal.pause()


def _write(path: Path, facts: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(facts))
    partial.rename(path)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    hold(Path(sys.argv[1]), **json.loads(sys.argv[2]))
