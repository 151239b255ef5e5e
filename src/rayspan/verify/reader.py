"""Reads a deployment's metrics until they say something: they follow the work with a delay."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rayspan.adapters.metrics import Scrape, scrape
from rayspan.verify.target import Deployed, Target

FINISHED = "ray_vllm_request_success_total"
KV_IN_USE = "ray_vllm_kv_cache_usage_perc"
POLL_S = 0.2
LAG_S = 10.0  # metrics follow the work by Ray's reporting interval; 10 s is its default
_QUIET_S = 2.0


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
            time.sleep(POLL_S)
        return now

    def settled(self) -> Scrape:
        """A scrape whose counters stayed the same for longer than a reporting interval."""
        now, since = self.now(), time.monotonic()
        deadline = since + LAG_S
        while time.monotonic() < min(since + _QUIET_S, deadline):
            time.sleep(POLL_S)
            later = self.now()
            if _counters(later) != _counters(now):
                since = time.monotonic()
            now = later
        return now


def _counters(scrape: Scrape) -> list[float]:
    return [s.value for s in scrape.samples if s.name.startswith(FINISHED)]


def all_finished(before: Scrape, now: Scrape, target: Target, probes: int) -> bool:
    return all(
        now.total(FINISHED, role) - before.total(FINISHED, role) >= probes
        for role in target.spec.pools()
    )
