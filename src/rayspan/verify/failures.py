"""Did any transfer or notification fail, or any KV cache expire unread?"""

from rayspan.verify.bytes import TRANSFERS
from rayspan.verify.observation import Observation
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, equal, inconclusive, judge, skip

NAME = "failures"
COUNTERS = {
    "failed transfers": "ray_vllm_nixl_num_failed_transfers_total",
    "failed notifications": "ray_vllm_nixl_num_failed_notifications_total",
    "expired KV caches": "ray_vllm_nixl_num_kv_expired_reqs_total",
}


def check_failures(target: Target, seen: Observation) -> Check:
    """A counter that never counted is absent: zero, if transfers happened that it could count."""
    unanswered = [answer.error for answer in seen.answers if answer.error]
    because = f" ({unanswered[0]})" if unanswered else ""
    evidence = [equal(f"probes without an answer{because}", len(unanswered), 0)]
    if target.split:
        evidence += [item for what in COUNTERS for item in _counted(target, seen, what)]
    transfers = seen.grown(TRANSFERS, "decode")
    none_wrong = all(item.holds for item in evidence)
    if not target.split and none_wrong:
        return skip(NAME, "no KV cache is handed over that could fail")
    if none_wrong and not transfers:
        return inconclusive(NAME, "no failure was counted, but no transfer either", evidence)
    return judge(NAME, f"none in {transfers:.0f} transfers", evidence)


def _counted(target: Target, seen: Observation, what: str) -> list[Evidence]:
    """One for each engine that counted any, or one for them all."""
    found = [
        equal(f"{what} of {role} {replica}", number, 0)
        for role in target.spec.pools()
        for replica, number in seen.grown_until_drained(COUNTERS[what], role).items()
    ]
    return found or [equal(what, 0, 0)]
