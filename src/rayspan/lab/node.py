"""The process that joins one host to the lab's Ray cluster, and stays while it belongs to it.

Settings are read from `head-settings.json`, as on the head; where the cluster is comes later, in
`join.json`, so that the host can load its libraries meanwhile.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from rayspan.local.head import SETTINGS, write_engine_environment

JOIN = "join.json"
_POLL_S = 0.05


def join(folder: Path, settings: dict[str, Any]) -> None:
    """Runs `ray start --block`: returns, or exits, when this node leaves the cluster."""
    cluster = _wait_for_cluster(folder / JOIN)
    watcher = threading.Thread(target=_tell_engines, args=(folder, cluster["job_id"]), daemon=True)
    watcher.start()
    from ray.scripts.scripts import main

    sys.argv = ["ray", *_arguments(cluster["gcs_address"], settings)]
    main()


def _wait_for_cluster(path: Path) -> dict[str, str]:
    parent = os.getppid()
    while not path.exists():
        time.sleep(_POLL_S)
        if os.getppid() != parent:
            sys.exit(1)
    facts: dict[str, str] = json.loads(path.read_text())
    return facts


def _tell_engines(folder: Path, job: str) -> None:
    """Preloaded engines wait for the job and the raylet they will work for."""
    while True:
        for child in psutil.Process().children():
            if child.name() == "raylet":
                write_engine_environment(folder, job, child.pid)
                return
        time.sleep(_POLL_S)


def _arguments(gcs_address: str, settings: dict[str, Any]) -> list[str]:
    options = {
        "address": gcs_address,
        "node-ip-address": settings["address"],
        "num-cpus": settings["cpus"],
        "resources": json.dumps(settings["resources"]),
        "object-store-memory": settings["object_store_memory"],
        "metrics-export-port": settings["metrics_port"],
        "dashboard-agent-listen-port": settings["agent_port"],
        "temp-dir": settings["temp_dir"],
    }
    return ["start", "--block", *(f"--{name}={value}" for name, value in options.items())]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    run_folder = Path(sys.argv[1])
    join(run_folder, json.loads((run_folder / SETTINGS).read_text()))
