"""What this machine must offer before anything is started."""

import contextlib
import json
from pathlib import Path
from typing import Final

from rayspan.adapters import processes
from rayspan.errors import InputError, WorldError
from rayspan.facts.shape import read_shape
from rayspan.local.model_source import weight_bytes
from rayspan.spec import SIDE_CHANNEL_BASES, PrefillDecode, Spec

# Measured on the two-engine default: all processes but the engines' weights and KV cache, once, and
# what each further engine adds (docs/results/startup.md).
_BASE_BYTES = 2 << 30
_ENGINE_BYTES = 700 << 20
_DISK_BYTES = 1 << 30
_AMX_TILES: Final = "amx_tile"


def check_nodes(spec: Spec) -> None:
    """Raises WorldError when an engine is to lie on several nodes, of which there is one here."""
    for role, pool in spec.pools().items():
        if pool.placement == "strict-spread":
            raise WorldError(
                f"each {role} engine is to lie on {pool.devices} nodes (placement: strict-spread), "
                "and `rayspan up` starts one",
                fix="hand what `rayspan render` writes to a Ray cluster with `serve deploy` "
                "(docs/how-to/spread-an-engine.md), or choose another placement",
            )


def check_ports(spec: Spec) -> None:
    """Raises WorldError naming the first taken port and who holds it."""
    target = spec.target
    wanted = {"the endpoint": (target.host, target.port)}
    wanted["Ray's dashboard"] = ("127.0.0.1", target.dashboard_port)
    for role, pool in spec.pools().items():
        if base := SIDE_CHANNEL_BASES.get(role):
            for rank in range(pool.replicas):
                port = base + rank * pool.devices
                wanted[f"the KV side channel of {role} replica {rank}"] = ("127.0.0.1", port)
    for purpose, (host, port) in wanted.items():
        if taken := processes.listener_on(host, port):
            raise WorldError(
                f"port {port} for {purpose} is taken by {taken.name} (pid {taken.pid})",
                fix=_port_fix(purpose, taken.pid),
            )


def _port_fix(purpose: str, pid: int) -> str:
    if purpose == "the endpoint":
        return f"end process {pid}, or choose another with target.port in the spec"
    if purpose == "Ray's dashboard":
        return f"end process {pid}, or choose another with target.dashboard_port in the spec"
    return f"end process {pid}: it may be an engine that a dead deployment left behind"


def memory_needed_bytes(spec: Spec, model: str) -> int:
    """An estimate of a whole CPU deployment's memory, from the spec and the weight files."""
    per_weight_byte = (
        2 if spec.model.dtype == "float32" else 1
    )  # checkpoints hold two bytes a weight
    engines = 0
    for pool in spec.pools().values():
        each_device = int(pool.kv_cache or 0) + _ENGINE_BYTES
        one = weight_bytes(model) * per_weight_byte + each_device * pool.devices
        engines += one * pool.replicas
    return _BASE_BYTES + engines


def check_memory(spec: Spec, model: str) -> None:
    """Raises WorldError when too little is available. GPU memory is vLLM's to judge."""
    if spec.target.device != "cpu":
        return
    needed, available = memory_needed_bytes(spec, model), processes.available_memory_bytes()
    if needed > available:
        raise WorldError(
            f"the deployment needs about {_gib(needed)} of memory and {_gib(available)} are "
            "available",
            fix="end other programs, lower kv_cache or replicas in the spec, or take a smaller "
            "model",
        )


def check_cpu(spec: Spec, model: str) -> None:
    """Raises WorldError for a hand-over that vLLM's connector refuses on CPUs with AMX tiles.

    vLLM 0.26 forces another layout of convolution states there than its NIXL connector reads
    (vllm/platforms/cpu.py:242), and its own error asks for the setting that it overwrote.
    """
    split = isinstance(spec.serving, PrefillDecode)
    if spec.target.device != "cpu" or not split or not processes.cpu_has(_AMX_TILES):
        return
    with contextlib.suppress(OSError, ValueError, InputError):  # a shape nobody knows is let pass
        shape = read_shape(json.loads((Path(model) / "config.json").read_text()))
        if shape.is_hybrid():
            raise WorldError(
                f"{shape.architecture} keeps convolution states, which vLLM cannot hand from "
                f"prefill to decode on this CPU ({_AMX_TILES})",
                fix="serve it with `kind: colocated`, or on a CPU without AMX tiles",
            )


def check_disk(folder: Path) -> None:
    """Raises WorldError when logs and sockets would not fit."""
    free = processes.free_disk_bytes(folder)
    if free < _DISK_BYTES:
        raise WorldError(
            f"{folder} has {_gib(free)} free; a deployment needs {_gib(_DISK_BYTES)} for its logs",
            fix="free some space, or set RAYSPAN_RUN_DIR to a larger disk",
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
