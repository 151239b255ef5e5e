"""Sends probes to a deployment and keeps what its metrics said before, after, and once drained."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rayspan.adapters.metrics import Scrape, scrape
from rayspan.verify.probes import Answer, Probe, ask, make_probes
from rayspan.verify.target import Deployed, Target

FINISHED = "ray_vllm_request_success_total"
KV_IN_USE = "ray_vllm_kv_cache_usage_perc"
RUNNING = "ray_vllm_num_requests_running"
_POLL_S = 0.2
_LAG_S = 10.0  # metrics follow the work by Ray's reporting interval; 10 s is its default
_QUIET_S = 2.0
_GAUGE_S = 3.0
_DRAIN_MARGIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Observation:
    """`answers` in the order of the probes; `kv_held` is the share of KV in use at rest at the end,
    by replica, for those replicas that were seen at all."""

    before: Scrape
    after: Scrape
    drained: Scrape
    answers: tuple[Answer, ...]
    kv_held: Mapping[str, float]
    others_running: float = 0.0

    @property
    def answered(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.error)

    def grown(self, name: str, role: str, **labels: str) -> float:
        """By how much a counter grew while the probes ran; an absent one is at zero."""
        return self.after.total(name, role, **labels) - self.before.total(name, role, **labels)

    def grown_until_drained(self, name: str, role: str) -> float:
        return self.drained.total(name, role) - self.before.total(name, role)


def observe(
    deployed: Deployed, target: Target, probes: Sequence[Probe], drain: bool
) -> Observation:
    """Runs the probes one after the other. Without `drain`, `kv_held` stays empty."""
    read = Reader(deployed)
    before = read.settled()
    answers = tuple(ask(deployed.api_base, target.spec.model.id, probe) for probe in probes)
    after = read.until(lambda now: _all_finished(before, now, target, len(probes)), _LAG_S)
    if not drain:
        return Observation(before, after, after, answers, {})
    held, running = _drain(read, deployed, target)
    return Observation(before, after, read.settled(), answers, held, running)


def kv_in_use(metrics_urls: Sequence[str]) -> dict[str, float]:
    """Share of the KV cache in use by replica id; idle replicas report nothing and are left out."""
    now = scrape(metrics_urls)
    pools = [now.by_replica(KV_IN_USE, role) for role in ("prefill", "decode", "colocated")]
    return {replica: share for pool in pools for replica, share in pool.items()}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads a deployment's metrics until they say something."""

    deployed: Deployed

    def now(self) -> Scrape:
        return scrape(self.deployed.metrics_urls)

    def until(self, enough: Callable[[Scrape], bool], seconds: float) -> Scrape:
        """The first scrape that is enough, or the last one before time is up."""
        deadline = time.monotonic() + seconds
        while not enough(now := self.now()) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        return now

    def settled(self) -> Scrape:
        """A scrape whose counters stayed the same for longer than a reporting interval."""
        now, since = self.now(), time.monotonic()
        deadline = since + _LAG_S
        while time.monotonic() < min(since + _QUIET_S, deadline):
            time.sleep(_POLL_S)
            later = self.now()
            if _counters(later) != _counters(now):
                since = time.monotonic()
            now = later
        return now


def _counters(scrape: Scrape) -> list[float]:
    return [s.value for s in scrape.samples if s.name.startswith(FINISHED)]


def _all_finished(before: Scrape, now: Scrape, target: Target, probes: int) -> bool:
    return all(
        now.total(FINISHED, role) - before.total(FINISHED, role) >= probes
        for role in target.spec.pools()
    )


def _drain(read: Reader, deployed: Deployed, target: Target) -> tuple[dict[str, float], float]:
    """Waits until no KV is held at rest, at most for the lease that bounds it.

    The gauge is reported only while an engine works, so each look follows a one-token request: what
    is reported after it ended is what is held at rest.
    """
    deadline = time.monotonic() + target.lease_s + _DRAIN_MARGIN_S
    vocabulary = target.shape.vocabulary if target.shape else 1000
    held: dict[str, float] = {}
    running, round_number = 0.0, 0
    while True:
        replicas = sum(pool.replicas for pool in target.spec.pools().values())
        for probe in make_probes([1] * 2 * replicas, vocabulary, seed=round_number):
            ask(deployed.api_base, target.spec.model.id, probe, new_tokens=1)
        seen, running = _watch_gauges(read, target)
        held |= seen
        round_number += 1
        complete = len(held) >= replicas
        if (complete and not any(held.values())) or time.monotonic() > deadline:
            return held, running


def _watch_gauges(read: Reader, target: Target) -> tuple[dict[str, float], float]:
    """The last value each replica reported within the gauge's life, and requests still running."""
    held: dict[str, float] = {}
    running = 0.0
    deadline = time.monotonic() + _GAUGE_S
    while time.monotonic() < deadline:
        now = read.now()
        for role in target.spec.pools():
            held |= now.by_replica(KV_IN_USE, role)
        running = sum(now.total(RUNNING, role) for role in target.spec.pools())
        time.sleep(_POLL_S)
    return held, running
