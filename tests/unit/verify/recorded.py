"""Recordings of a real deployment, and small ones made up in the same form."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rayspan.adapters.metrics import Scrape, parse_scrape
from rayspan.facts.shape import Attention, ModelShape
from rayspan.spec import PrefillDecode, Spec
from rayspan.verify.observation import Observation
from rayspan.verify.probes import Answer, Probe
from rayspan.verify.roster import Member, Roster
from rayspan.verify.target import Target
from rayspan.verify.wire_window import Host, Reading, WireWindow

DATA = Path(__file__).parents[2] / "data"
LENGTHS = (1, 31, 32, 33, 529)
SMOL = ModelShape("LlamaForCausalLM", "bfloat16", 49152, 8192, 30, (Attention(3, 64),) * 30)

REPLICAS = {"prefill": "p0", "decode": "d0", "colocated": "c0"}
_DEPLOYMENTS = {"prefill": "Prefill:m", "decode": "Decode:m", "colocated": "LLMServer:m"}

SOURCE = "ray_vllm_prompt_tokens_by_source_total"
FINISHED = "ray_vllm_request_success_total"
EXACT = "ray_vllm_rayspan_kv_bytes_read_total"
TRANSFERS = "ray_vllm_nixl_bytes_transferred_count"
BUCKET = "ray_vllm_nixl_bytes_transferred_bucket"

Counts = Mapping[tuple[str, ...], float]  # (metric, role, label=value ...) to value

# What a sound deployment counts for LENGTHS at a block size of 32, in float32.
SOUND: dict[tuple[str, ...], float] = {
    (FINISHED, "prefill"): 5,
    (FINISHED, "decode"): 5,
    (SOURCE, "prefill", "source=local_compute"): 626,
    (SOURCE, "decode", "source=external_kv_transfer"): 625,
    (SOURCE, "decode", "source=local_compute"): 1,
    (EXACT, "decode"): 22 * 1_474_560,
    (TRANSFERS, "decode"): 5,
}


@dataclass(frozen=True)
class Node:
    name: str = "head"
    address: str = "127.0.0.1"
    root_pid: int = field(default_factory=os.getpid)
    interface: str = "lo"


@dataclass(frozen=True)
class Deployment:
    """A record of something that is not up."""

    spec: Spec
    model_folder: str = "/nowhere"
    api_base: str = "http://there"
    metrics_urls: tuple[str, ...] = ("http://there/metrics",)
    log_folders: tuple[Path, ...] = (Path("/nowhere"),)
    dashboard: str = "http://there:8265"
    nodes: tuple[Node, ...] = field(default_factory=lambda: (Node(),))


ROSTER = Roster((Member("prefill", "p0", 11, "worker-1"), Member("decode", "d0", 12, "worker-2")))


def recorded_window(name: str) -> WireWindow:
    """What `verify --record-counters` wrote."""
    whole = json.loads((DATA / name / "counters.json").read_text())
    hosts = tuple(Host(h["name"], h["interface"], tuple(h["roles"])) for h in whole["hosts"])
    return WireWindow(hosts, *(Reading(**whole[moment]) for moment in ("idle", "before", "after")))


def spec_of(transport: str = "ucx", **changes: object) -> Spec:
    pool = {"block_size": 32, "max_num_batched_tokens": 512}
    return Spec.model_validate(
        {
            "model": {"id": "m", "source": "/m", "max_model_len": 2048, "dtype": "float32"},
            "serving": {
                "kind": "prefill-decode",
                "prefill": pool,
                "decode": pool,
                "transport": {"kind": transport},
                **changes,
            },
        }
    )


def split_target(transport: str = "ucx", dtype: str = "float32") -> Target:
    spec = spec_of(transport)
    model = spec.model.model_copy(update={"dtype": dtype})
    return Target(spec.model_copy(update={"model": model}), SMOL)


def efa_target() -> Target:
    """No local spec may ask for EFA."""
    spec = spec_of()
    assert isinstance(spec.serving, PrefillDecode)
    transport = spec.serving.transport.model_copy(update={"kind": "efa"})
    serving = spec.serving.model_copy(update={"transport": transport})
    return Target(spec.model_copy(update={"serving": serving}), SMOL)


def colocated_target() -> Target:
    spec = Spec.model_validate(
        {"model": {"id": "m", "source": "/m"}, "serving": {"kind": "colocated"}}
    )
    return Target(spec, SMOL)


def scrape_of(counts: Counts) -> Scrape:
    lines = [
        f'ray_serve_starts_total{{deployment="{_DEPLOYMENTS[role]}",replica="{replica}"}} 1'
        for role, replica in REPLICAS.items()
    ]
    for (name, role, *labels), value in counts.items():
        pairs = [("ReplicaId", REPLICAS[role]), *(label.split("=", 1) for label in labels)]
        text = ",".join(f'{key}="{told}"' for key, told in pairs)
        lines.append(f"{name}{{{text}}} {value}")
    return parse_scrape(["\n".join(lines) + "\n"])


def probes(lengths: Sequence[int] = LENGTHS) -> tuple[Probe, ...]:
    return tuple(Probe(tuple(range(100, 100 + length))) for length in lengths)


def answers(lengths: Sequence[int] = LENGTHS) -> tuple[Answer, ...]:
    return tuple(Answer(probe, (7, 8, 9)) for probe in probes(lengths))


def observed(
    after: Counts,
    *,
    drained: Counts | None = None,
    held: Mapping[str, float] | None = None,
    given: Sequence[Answer] | None = None,
    others: float = 0.0,
    gauged: Sequence[str] = (),
    wire: WireWindow | str = "not asked for",
) -> Observation:
    """An observation whose counters stood at zero before."""
    return Observation(
        before=scrape_of({}),
        after=scrape_of(after),
        drained=scrape_of(drained or after),
        answers=tuple(answers() if given is None else given),
        kv_held={"p0": 0.0, "d0": 0.0} if held is None else held,
        others_running=others,
        gauged=frozenset(gauged),
        wire=wire,
    )
