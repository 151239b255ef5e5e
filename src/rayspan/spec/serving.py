"""The serving patterns."""

from typing import Annotated, Literal

from pydantic import Field

from rayspan.spec.pool import Pool
from rayspan.spec.strict import Strict


class Transport(Strict):
    """The wire that carries the KV cache from prefill to decode."""

    kind: Annotated[
        Literal["ucx", "tcp", "efa"],
        Field(
            description="ucx: whatever UCX finds best, shared memory on one host; tcp: UCX over TCP "
            "alone; efa: libfabric over EFA, not on a local target."
        ),
    ] = "ucx"


class PrefillDecode(Strict):
    """Prompts are computed in one pool, tokens in another; the KV cache is handed over."""

    kind: Annotated[Literal["prefill-decode"], Field(description="The pattern.")]
    prefill: Annotated[Pool, Field(description="Engines that compute prompts.")] = Pool()
    decode: Annotated[Pool, Field(description="Engines that generate tokens.")] = Pool()
    transport: Annotated[Transport, Field(description="The wire between the pools.")] = Transport()
    kv_lease_s: Annotated[
        int,
        Field(
            ge=6,
            le=3600,
            description="Seconds for which prefill keeps a KV cache that decode has not fetched, "
            "6 to 3600; longer than a request may wait for decode.",
        ),
    ] = 60


class Colocated(Pool):
    """Every engine computes prompts and tokens."""

    kind: Annotated[Literal["colocated"], Field(description="The pattern.")]
