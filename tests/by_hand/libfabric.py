"""NIXL's LIBFABRIC backend over libfabric's tcp provider: two agents, then pairs of vLLM engines.

    python -m tests.by_hand.libfabric PREFIX [--interface NAME]

PREFIX/lib holds libfabric.so.1, 2.0 or newer, with the tcp provider (docs/results/libfabric.md says
how it is built). Needs a C compiler where no CUDA driver is installed.
"""

import argparse
import ctypes.util
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rayspan.facts.shape import read_shape
from rayspan.plan.kv_bytes import CacheSettings, Request, expect_kv_bytes
from tests.gpu.installed import as_installed
from tests.tree import ROOT

BACKEND = "LIBFABRIC"
SAID = f"Backend {BACKEND} was instantiated"
_AGENTS_S = 120.0


def environment(prefix: Path, interface: str, folder: Path) -> dict[str, str]:
    """What lets NIXL's plugin load on a host with neither EFA nor a CUDA driver."""
    paths = [str(prefix / "lib"), str(prefix / "lib64"), *_cuda_runtime()]
    if not ctypes.util.find_library("cuda"):
        stub = folder / "libcuda.so.1"
        source = Path(__file__).with_name("no_cuda.c")
        subprocess.run(
            ["cc", "-shared", "-fPIC", f"-Wl,-soname,{stub.name}", "-o", stub, source], check=True
        )
        paths.append(str(folder))
    paths.append(os.environ.get("LD_LIBRARY_PATH", ""))
    chosen = {"FI_TCP_IFACE": interface} if interface else {}
    return {
        **os.environ,
        **chosen,
        "FI_PROVIDER": "tcp",
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths)),
        "NIXL_LOG_LEVEL": "INFO",
    }


def _cuda_runtime() -> list[str]:
    found = importlib.util.find_spec("nvidia")
    roots = found.submodule_search_locations if found else None
    return [str(path.parent) for root in roots or () for path in Path(root).rglob("libcudart.so*")]


def run_agents(env: dict[str, str], folder: Path) -> bool:
    """Two processes, host memory to host memory."""
    command = [sys.executable, "-m", "tests.by_hand.nixl_agents"]
    with (folder / "source.log").open("wb") as log:
        source = subprocess.Popen(
            [*command, "source", BACKEND, folder], env=env, stdout=log, stderr=log
        )
    try:
        done = subprocess.run(
            [*command, "reader", BACKEND, folder],
            env=env, capture_output=True, text=True, timeout=_AGENTS_S, check=False,
        )  # fmt: skip
        source.wait(10)
    finally:
        source.kill()
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"state"')]
    for row in rows:
        print("  agents:", row)
    if not rows:
        print((done.stdout + done.stderr)[-800:])
    opened = SAID in done.stdout + done.stderr
    return opened and bool(rows) and all(row["right"] and row["state"] == "DONE" for row in rows)


def run_engines(kind: str, env: dict[str, str], folder: Path) -> bool:
    """A prefill and a decode engine: bytes by the model's shape, tokens as over UCX."""
    from tests.integration.test_kv_bytes import LENGTHS, SETTINGS, run_pair  # noqa: PLC0415
    from tests.tiny_models import make_tiny_model  # noqa: PLC0415  (heavy)

    settings: dict[str, Any] = SETTINGS[kind]
    model = make_tiny_model(kind, folder / kind)
    over_ucx = run_pair(model, settings)
    rows = run_pair(model, settings, backend=BACKEND, env=env)
    cache = CacheSettings(
        settings["block_size"],
        settings["dtype"],
        state_dtype=settings.get("mamba_ssm_cache_dtype"),
    )
    shape = read_shape(json.loads((model / "config.json").read_text()))
    expected = list(expect_kv_bytes(shape, cache, [Request(n) for n in LENGTHS]).per_request)
    moved = [row["bytes"] for row in rows]
    same = [row["ids"] for row in rows] == [row["ids"] for row in over_ucx]
    print(f"  {kind}: moved {moved}, expected {expected}; tokens as over UCX: {same}", flush=True)
    return moved == expected and same


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--interface", default="", help="not loopback, which libfabric leaves out")
    parser.add_argument("--kinds", nargs="*", default=["full", "mixed", "hybrid"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        as_installed(folder / "site")
        os.environ["PYTHONPATH"] += os.pathsep + str(ROOT)
        env = environment(given.prefix, given.interface, folder)
        right = {"agents": run_agents(env, folder)}
        right |= {kind: run_engines(kind, env, folder) for kind in given.kinds}
        refused = not run_agents(env | {"FI_PROVIDER": "none-such"}, folder)
        right["refused without a provider"] = refused
    print(*(f"{name}: {'ok' if holds else 'WRONG'}" for name, holds in right.items()), sep="\n")
    return 0 if all(right.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
