"""Are a request's transfer parameters such that a decode engine can act on them?

vLLM trusts them: some that are wrong end the engine on an assertion, some leave the request waiting
for ever.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

Text = Annotated[str, Field(min_length=1)]
Groups = Sequence[Sequence[Annotated[int, Field(ge=0)]]]


def _name_a_block(groups: Groups) -> Groups:
    if not any(groups):
        raise ValueError("no block is named")
    return groups


class _TakeOver(BaseModel):
    """What vLLM's NIXL connector reads of them. `remote_block_ids`: a list a cache group."""

    model_config = ConfigDict(strict=True)
    remote_engine_id: Text
    remote_request_id: Text
    remote_host: Text
    remote_port: Annotated[int, Field(ge=1, le=65535)]
    remote_block_ids: Annotated[Groups, AfterValidator(_name_a_block)]
    tp_size: Annotated[int, Field(ge=1)] = 1


def find_problem(params: Mapping[str, Any] | None) -> str:
    """What is wrong, or nothing; requests that take nothing over have nothing wrong."""
    if not params or not params.get("do_remote_prefill"):
        return ""
    try:
        _TakeOver.model_validate(dict(params))
    except ValidationError as error:
        return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    return ""
