"""Asks the deployment for each feature of an OpenAI endpoint."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from typing import Any

from rayspan.adapters.http import exchange
from rayspan.verify.parity import NEAR_TIE_NATS
from rayspan.verify.replies import Reply
from rayspan.verify.surface import Asked
from rayspan.verify.surface_cases import Case
from rayspan.verify.target import Deployed, Target

_AT_ONCE = 4
Request = tuple[str, dict[str, Any]]


def reference_requests(target: Target, cases: Sequence[Case]) -> list[Request]:
    """Each case, and where rounding may turn an answer each again in the form that tells how sure
    the engine is of its tokens."""
    again = [case.with_leads for case in cases] if NEAR_TIE_NATS[target.dtype] else []
    return [(case.path, case.body) for case in cases] + again


def ask_surface(
    deployed: Deployed, cases: Sequence[Case], replies: Sequence[Reply]
) -> tuple[Asked, ...]:
    """`replies`: the reference's, to `reference_requests`; without them nobody is asked."""
    if not replies:
        return ()
    own, leads = replies[: len(cases)], replies[len(cases) :]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        given = pool.map(lambda case: exchange(f"{deployed.api_base}{case.path}", case.body), cases)
        return tuple(
            Asked(case, reply, reference, lead)
            for case, reply, reference, lead in zip_longest(cases, given, own, leads)
        )
