"""A pool: the replicas of one role, each with one engine."""

from typing import Literal

from pydantic import Field, JsonValue

from rayspan.spec.base import Strict
from rayspan.units import Bytes

Role = Literal["prefill", "decode", "colocated"]
Placement = Literal["pack", "strict-pack", "spread", "strict-spread"]


class Pool(Strict):
    """Engines that do the same work."""

    replicas: int = Field(
        default=1,
        ge=1,
        le=256,
        description="Number of engines in the pool.",
        json_schema_extra={"unit": "engines"},
    )
    tensor_parallel: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Devices over which each engine's weights and KV cache are split.",
        json_schema_extra={"unit": "devices"},
    )
    pipeline_parallel: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Stages into which each engine's layers are cut, one after the other, each on "
        "tensor_parallel devices. Not under prefill-decode.",
        json_schema_extra={"unit": "stages"},
    )
    placement: Placement = Field(
        default="pack",
        description="How an engine's devices lie over the nodes of a cluster. pack: as few nodes "
        "as have room. strict-pack: one node. spread: as many as have room. strict-spread: a node "
        "for each device. On cpu an engine always has one node.",
    )
    gpu_share: float = Field(
        default=1.0,
        ge=0.01,
        le=1.0,
        description="Share of a GPU that each engine counts for: below 1, engines of one device "
        "share a GPU. On cuda only.",
        json_schema_extra={"unit": "GPUs"},
    )
    block_size: int | None = Field(
        default=None,
        ge=1,
        le=8192,
        description="Tokens in one block of the KV cache. Left out: the engine's choice.",
        json_schema_extra={"unit": "tokens"},
    )
    kv_cache: Bytes | None = Field(
        default=None,
        ge=2**20,
        le=2**44,
        description='Memory for the KV cache of each device, such as "256MiB". Left out: the '
        "engine's choice.",
        json_schema_extra={"unit": "bytes"},
    )
    max_num_seqs: int | None = Field(
        default=None,
        ge=1,
        le=65536,
        description="Requests that an engine works on at once. Left out: the engine's choice.",
        json_schema_extra={"unit": "requests"},
    )
    max_num_batched_tokens: int | None = Field(
        default=None,
        ge=1,
        le=2**24,
        description="Tokens that an engine computes in one step. Left out: the engine's choice.",
        json_schema_extra={"unit": "tokens"},
    )
    engine: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Further vLLM engine arguments by their Python names, passed through as they "
        "are. What the spec has a field for is refused here.",
    )

    @property
    def devices(self) -> int:
        """Of each engine: as many processes compute, and as many bundles are asked of Ray."""
        return self.tensor_parallel * self.pipeline_parallel
