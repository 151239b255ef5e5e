"""All drills, in an order in which the harmless come first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rayspan.drill import crowd_faults, engine_faults, host_faults
from rayspan.drill.scene import Scene
from rayspan.lab.state import Lab
from rayspan.spec import PrefillDecode, Role, Spec


@dataclass(frozen=True, slots=True)
class Drill:
    """One fault. `loses`: how many replicas of a pool may be replaced by it, None for any number;
    what is not named must live through it."""

    name: str
    what: str
    play: Callable[[Scene], None]
    split: bool = False
    hosts: bool = False
    loses: Mapping[Role, int | None] = field(default_factory=dict)

    def why_not(self, spec: Spec, lab: Lab | None) -> str:
        """Why it cannot be played, or nothing."""
        if self.split and not isinstance(spec.serving, PrefillDecode):
            return "one pool computes prompts and tokens: nothing is handed over"
        if self.hosts and (lab is None or lab.options.isolation == "none"):
            return "it needs hosts: `rayspan lab up` as root makes them"
        return ""


_ALL_LOST: Mapping[Role, int | None] = dict.fromkeys(("prefill", "decode", "colocated"))

DRILLS: tuple[Drill, ...] = (
    Drill("slow-client", "a client reads slowly", crowd_faults.slow_client),
    Drill("fill-kv-cache", "long prompts for twice the KV cache", crowd_faults.fill_kv_cache),
    Drill("disconnect", "200 clients hang up at random times", crowd_faults.disconnect),
    Drill(
        "late-decode",
        "decode's queue is longer than the lease",
        engine_faults.late_decode,
        split=True,
    ),
    Drill(
        "freeze-prefill",
        "prefill stands still beyond the lease, after it answered",
        engine_faults.freeze_prefill,
        split=True,
    ),
    Drill(
        "cut-1s",
        "no link between prefill and decode for 1 s",
        host_faults.cut_for_a_second,
        split=True,
        hosts=True,
    ),
    Drill(
        "cut-10s",
        "no link between prefill and decode for 10 s",
        host_faults.cut_for_ten_seconds,
        split=True,
        hosts=True,
    ),
    Drill(
        "cut-for-good",
        "no link between prefill and decode until all clients are answered",
        host_faults.cut_for_good,
        split=True,
        hosts=True,
    ),
    Drill(
        "kill-prefill-idle",
        "an idle prefill engine dies",
        engine_faults.kill_prefill_idle,
        split=True,
        loses={"prefill": 1},
    ),
    Drill(
        "kill-prefill-handshake",
        "a prefill engine dies while decode greets it",
        engine_faults.kill_prefill_in_handshake,
        split=True,
        loses={"prefill": None},
    ),
    Drill(
        "kill-prefill-read",
        "a prefill engine dies while decode reads from it",
        engine_faults.kill_prefill_in_read,
        split=True,
        loses={"prefill": 1},
    ),
    Drill(
        "kill-decode",
        "an engine dies in the middle of answers, and returns on the same address",
        engine_faults.kill_decode,
        loses={"decode": 1, "colocated": 1},
    ),
    Drill(
        "drain-host",
        "a host is drained, goes, and returns",
        host_faults.drain_host,
        hosts=True,
        loses=_ALL_LOST,
    ),
    Drill(
        "kill-head",
        "the head dies and is started again",
        host_faults.kill_head,
        hosts=True,
        loses=_ALL_LOST,
    ),
)
