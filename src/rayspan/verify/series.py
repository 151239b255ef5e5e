"""Does every engine have the metrics that operators and these checks rely on?"""

from rayspan.adapters.metrics import Scrape
from rayspan.verify.observation import RUNNING, Observation
from rayspan.verify.reader import FINISHED
from rayspan.verify.roster import Member, Roster
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, inconclusive, judge

NAME = "metrics"
_NIXL = "ray_vllm_nixl_"
_THERE, _MISSING = "there", "missing"


def check_metrics(target: Target, roster: Roster, seen: Observation, last: Scrape) -> Check:
    """`last`: the counters once every engine was asked.

    A gauge is gone when its engine has been idle for two reporting intervals, and an engine that
    nobody asked has no counters: neither says that a metric is missing.
    """
    if not roster.members:
        return inconclusive(NAME, "Serve did not say which engines there are")
    evidence: list[Evidence] = []
    unasked = []
    for member in roster.members:
        asked = member.replica in last.by_replica(FINISHED, member.role)
        if member.replica in seen.gauged or member.replica in seen.kv_held:
            evidence.append(_there(RUNNING, member, member.replica in seen.gauged))
        else:
            unasked.append(f"{member} told no gauge")
        if target.split and member.role == "decode":
            if asked:
                evidence.append(_there(f"{_NIXL}*", member, _has_nixl(last, member)))
            else:
                unasked.append(f"{member} answered nothing")
    if unasked and all(item.holds for item in evidence):
        return inconclusive(NAME, "; ".join(unasked), evidence)
    return judge(NAME, f"all {len(evidence)} series of {len(roster.members)} engines", evidence)


def _there(series: str, member: Member, found: bool) -> Evidence:
    return Evidence(f"{series} of {member}", _THERE if found else _MISSING, _THERE, found)


def _has_nixl(scrape: Scrape, member: Member) -> bool:
    return any(
        sample.name.startswith(_NIXL) and sample.labels.get("ReplicaId") == member.replica
        for sample in scrape.samples
    )
