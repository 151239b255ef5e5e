"""The environment and settings under which a local cluster runs."""

import importlib.util
import os
from pathlib import Path
from typing import Any

from rayspan.errors import WorldError
from rayspan.spec import Spec

# A process that blocks is no slower for it, and two engines on two cores need the cores.
_NIXL_PROGRESS_DELAY_US = "1000"


def cluster_environment(spec: Spec, pool_env: dict[str, str], alone: bool) -> dict[str, str]:
    """Environment of every process. `pool_env` is what the rendered pools set for their replicas:
    some of it is read when a library is loaded, so preloaded processes must have it from the start.
    `alone`: the cluster has one node, which is bound to loopback.
    """
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "RAY_metrics_report_interval_ms": "1000",
        # A raylet ends itself when its agent has not come up in time; on busy cores it is late.
        "RAY_agent_register_timeout_ms": "120000",
        "RAYSPAN_NIXL_PROGRESS_DELAY_US": _NIXL_PROGRESS_DELAY_US,
        # UCX then says which transports each connection uses: what `verify` reads.
        "UCX_LOG_LEVEL": "info",
        # One thread until the fork; see preload/server.py.
        "OPENBLAS_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
    if alone:
        env["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray's own switch: it binds to loopback
    env |= pool_env
    if spec.target.device == "cpu" and (libgomp := _torch_libgomp()):
        env["LD_PRELOAD"] = ":".join(filter(None, [env.get("LD_PRELOAD"), libgomp]))
    return env


def shared_environment(config: dict[str, Any]) -> dict[str, str]:
    """Variables that every pool of a rendered Serve configuration sets alike."""
    args = config["applications"][0]["args"]
    pools = args.get("llm_configs") or [args["prefill_config"], args["decode_config"]]
    per_pool = [pool.get("runtime_env", {}).get("env_vars", {}) for pool in pools]
    return {k: v for k, v in per_pool[0].items() if all(env.get(k) == v for env in per_pool)}


def logical_cpus(spec: Spec) -> int:
    """CPUs that Ray must count so that every replica's bundle fits: a ledger, not a reservation."""
    return sum(pool.replicas * pool.devices for pool in spec.pools().values()) + 1


def head_settings(spec: Spec, folder: Path) -> dict[str, Any]:
    """What `local/head.py` reads: keywords of `ray.init` and `serve.start`."""
    target = spec.target
    return {
        "ray_settings": {
            "address": "local",
            "num_cpus": logical_cpus(spec),
            "include_dashboard": True,
            "dashboard_host": "127.0.0.1",
            "dashboard_port": target.dashboard_port,
            "object_store_memory": int(target.object_store),
            "log_to_driver": False,
            "namespace": "serve",
            "_node_ip_address": "127.0.0.1",
            "_temp_dir": str(folder / "ray"),
        },
        "serve_settings": {
            "proxy_location": "HeadOnly",
            "http_options": {"host": target.host, "port": target.port},
        },
    }


def check_stack_installed() -> None:
    """Raises WorldError naming the first missing part of the serving stack."""
    for module in ("ray", "vllm", "nixl"):
        if importlib.util.find_spec(module) is None:
            raise WorldError(
                f"{module} is not installed in this Python environment",
                fix="run rayspan from the environment that `make demo` or the stack row's "
                "requirements installed",
            )


def _torch_libgomp() -> str | None:
    """The OpenMP library that vLLM would preload into its CPU engine: the same one, or a process
    forked without it would be refused (vllm/platforms/cpu.py chooses it this way)."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    for folder in (package.parent / "torch.libs", package / "lib"):
        if found := next(folder.glob("libgomp*.so*"), None):
            return str(found)
    return None
