"""The pattern in which a model is served."""

from typing import Final, Literal

from pydantic import Field

from rayspan.spec.base import Strict
from rayspan.spec.pool import Pool, Role

# First NIXL side-channel port of each role; Ray adds a replica's rank times its devices.
SIDE_CHANNEL_BASES: Final[dict[Role, int]] = {"prefill": 20000, "decode": 22000}
# First port on which an engine of each role gathers its workers on GPUs; each replica has a few of
# its own, so that the next one's are free when its first is still held by an engine that died.
STORE_BASES: Final[dict[Role, int]] = {"prefill": 24000, "decode": 26000, "colocated": 28000}
STORE_PORTS: Final = 4


class Transport(Strict):
    """The wire that the KV cache takes from prefill to decode."""

    kind: Literal["ucx", "tcp", "efa"] = Field(
        default="ucx",
        description="ucx: the best that UCX finds, such as shared memory, NVLink or RDMA. "
        "tcp: UCX over TCP only. efa: libfabric over EFA, not on a local target.",
    )


class PrefillDecode(Strict):
    """Prompts are computed on one pool and answers generated on another."""

    kind: Literal["prefill-decode"] = Field(
        description="Prefill and decode on engines of their own."
    )
    prefill: Pool = Field(
        default_factory=Pool, description="The pool that computes prompts and their KV cache."
    )
    decode: Pool = Field(
        default_factory=Pool, description="The pool that takes the KV cache over and generates."
    )
    transport: Transport = Field(
        default_factory=Transport, description="How the KV cache travels. Left out: ucx."
    )
    server: Literal["rayspan", "upstream"] = Field(
        default="rayspan",
        description="rayspan: a request whose KV cache was not read whole and in time fails. "
        "upstream: vLLM alone, which on some models answers it with wrong text.",
    )
    # The decode engine renews the lease every sixth of it, in whole seconds, so that less than six
    # would mean at every step (vllm .../nixl/base_scheduler.py, _heartbeat_interval).
    kv_lease_s: int = Field(
        default=60,
        ge=6,
        le=86400,
        description="How long prefill keeps a prompt's KV cache for a decode engine that has not "
        "asked for it yet. Longer than the longest wait for decode.",
        json_schema_extra={"unit": "seconds"},
    )


class Colocated(Pool):
    """Every engine computes prompts and generates answers."""

    kind: Literal["colocated"] = Field(description="Whole requests on each engine.")


Serving = PrefillDecode | Colocated
