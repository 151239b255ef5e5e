"""The door to metrics: reads Ray's metrics ports and tells which pool each number belongs to.

vLLM's metrics carry a replica's id and no pool; Ray Serve's carry both, so those are the key. Three
things about the exporter of Ray 2.58 shape what may be concluded:

- a counter that never counted is absent, and stands for zero;
- a gauge is absent unless it was set within the last two reporting intervals;
- a histogram's sum is rebuilt from the middles of its buckets: only counts are exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from rayspan.adapters.http import get_text
from rayspan.errors import WorldError

ROLES = {"Prefill": "prefill", "Decode": "decode", "LLMServer": "colocated"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a scrape."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Scrape:
    """What all metrics ports said at one moment. `roles`: replica id to role."""

    samples: tuple[Sample, ...]
    roles: Mapping[str, str]

    def by_replica(self, name: str, role: str, **labels: str) -> dict[str, float]:
        """Sums of the matching samples for each replica of `role` that has any."""
        sums: dict[str, float] = {}
        for sample in self.samples:
            replica = sample.labels.get("ReplicaId", "")
            matches = sample.name == name and labels.items() <= sample.labels.items()
            if matches and self.roles.get(replica) == role:
                sums[replica] = sums.get(replica, 0.0) + sample.value
        return sums

    def total(self, name: str, role: str, **labels: str) -> float:
        """Sum over the pool; zero when nothing matches."""
        return sum(self.by_replica(name, role, **labels).values(), 0.0)

    def has(self, name: str, role: str) -> bool:
        return bool(self.by_replica(name, role))


def parse_scrape(texts: Iterable[str]) -> Scrape:
    """Reads the texts of one or more metrics ports."""
    samples = tuple(
        Sample(sample.name, sample.labels, sample.value)
        for text in texts
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("ray_")
    )
    roles = {}
    for sample in samples:
        role = ROLES.get(sample.labels.get("deployment", "").partition(":")[0])
        if role and (replica := sample.labels.get("replica")):
            roles[replica] = role
    return Scrape(samples, roles)


def scrape(urls: Sequence[str]) -> Scrape:
    """Raises WorldError when a port does not answer: half a sum would look like a whole one."""
    return parse_scrape([_read(url) for url in urls])


def _read(url: str) -> str:
    text = get_text(url)
    if text is None:
        raise WorldError(f"no metrics at {url}", fix="is the deployment still up? `rayspan status`")
    return text
