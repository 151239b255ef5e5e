"""Did NIXL move as many bytes of KV cache as the model's shape says?"""

from rayspan.errors import InputError
from rayspan.plan.kv_bytes import KvBytes, Request, expect_kv_bytes
from rayspan.verify.observation import Observation
from rayspan.verify.split import COLOCATED, unusable
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, equal, inconclusive, judge, skip

NAME = "bytes"
TOLERANCE = 0.02
EXACT = "ray_vllm_rayspan_kv_bytes_read_total"
TRANSFERS = "ray_vllm_nixl_bytes_transferred_count"
BUCKETS = "ray_vllm_nixl_bytes_transferred_bucket"


def check_bytes(target: Target, seen: Observation) -> Check:
    """Compares with the exact counter of `rayspan.serving.kv_bytes`.

    vLLM's own histogram cannot pass this check, for its sum is not exact on Ray's metrics port; but
    its buckets can fail it.
    """
    if not target.split:
        return skip(NAME, COLOCATED)
    if target.shape is None:
        return inconclusive(NAME, f"the expected bytes are unknown: {target.unknown_shape}")
    if reason := unusable(seen):
        return inconclusive(NAME, reason)
    requests = [Request(len(answer.probe.prompt)) for answer in seen.answered]
    try:
        expected = expect_kv_bytes(target.shape, target.cache_settings(), requests)
    except InputError as error:
        return inconclusive(NAME, f"the expected bytes are unknown: {error.message}")
    if seen.after.has(TRANSFERS, "decode") and not seen.after.has(EXACT, "decode"):
        return _by_buckets(seen, expected)
    moved = seen.grown(EXACT, "decode")
    holds = abs(moved - expected.total) <= TOLERANCE * expected.total
    evidence = Evidence("bytes read by decode", moved, expected.total, holds)
    summary = f"NIXL moved {moved:.0f} bytes, the model's shape says {expected.total}"
    return judge(NAME, summary, [evidence], expected.explain)


def _by_buckets(seen: Observation, expected: KvBytes) -> Check:
    edges = sorted({float(s.labels["le"]) for s in seen.after.samples if s.name == BUCKETS})
    evidence = []
    for edge in edges:
        wanted = sum(size <= edge for size in expected.per_request)
        counted = _transfers_up_to(seen, edge)
        evidence.append(equal(f"transfers of at most {edge:.0f} bytes", counted, wanted))
    if all(item.holds for item in evidence):
        reason = (
            "the bytes are known only by order of magnitude: the engines lack rayspan's counter"
        )
        return inconclusive(NAME, reason, evidence)
    return judge(NAME, "", evidence, expected.explain)


def _transfers_up_to(seen: Observation, edge: float) -> float:
    return sum(
        sign * sample.value
        for sign, scrape in ((1, seen.after), (-1, seen.before))
        for sample in scrape.samples
        if sample.name == BUCKETS
        and scrape.roles.get(sample.labels.get("ReplicaId", "")) == "decode"
        and float(sample.labels["le"]) == edge
    )
