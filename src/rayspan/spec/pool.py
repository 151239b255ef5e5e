"""One pool of engines that play the same role."""

from typing import Annotated, Any, Literal

from pydantic import Field

from rayspan.spec.strict import Strict
from rayspan.units import Bytes

Role = Literal["prefill", "decode", "colocated"]


class Pool(Strict):
    """Engines of one role, all alike."""

    replicas: Annotated[int, Field(ge=1, le=512, description="Engines in the pool, 1 to 512.")] = 1
    tensor_parallel: Annotated[
        int, Field(ge=1, le=64, description="Devices that share one engine's layers, 1 to 64.")
    ] = 1
    block_size: Annotated[
        int | None,
        Field(ge=1, le=1024, description="Tokens in one KV block, 1 to 1024; vLLM's choice if left out."),
    ] = None
    kv_cache: Annotated[
        Bytes | None,
        Field(description='KV cache of one engine, such as "256MiB"; vLLM\'s choice if left out.'),
    ] = None
    max_num_seqs: Annotated[
        int | None, Field(ge=1, le=65536, description="Sequences an engine runs at once, 1 to 65536.")
    ] = None
    max_num_batched_tokens: Annotated[
        int | None,
        Field(ge=1, le=1 << 20, description="Tokens an engine computes in one step, 1 to 1048576."),
    ] = None
    engine: Annotated[
        dict[str, Any],
        Field(description="Further vLLM engine arguments by name, passed through unchanged."),
    ] = {}
