"""The spec itself."""

import re
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from rayspan.spec.base import RULES_ERROR, Strict, not_allowed
from rayspan.spec.model import Model
from rayspan.spec.pool import Pool, Role
from rayspan.spec.rules import find_faults
from rayspan.spec.serving import PrefillDecode, Serving
from rayspan.spec.target import LocalTarget
from rayspan.stack.row import default_row

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


def _check_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise not_allowed('lower-case letters, digits and "-", at most 40 characters')
    return value


def _default_stack(fields: dict[str, Any]) -> str:
    return default_row(fields["target"].device).id


class Spec(Strict):
    """One model, how it is served, where. A spec that exists is consistent."""

    name: Annotated[str, AfterValidator(_check_name)] = Field(
        default="rayspan",
        description="Name of the deployment.",
        min_length=1,
        max_length=40,
    )
    model: Model = Field(description="The model to serve.")
    serving: Annotated[Serving, Field(discriminator="kind")] = Field(
        description="The pattern: prefill and decode apart, or colocated."
    )
    target: LocalTarget = Field(
        default_factory=LocalTarget,
        description="Where to run. Left out: this machine, on its CPUs.",
    )
    stack: str = Field(
        default_factory=_default_stack,
        description="Row of versions that were validated together, see `rayspan stack list`. "
        "Left out: the default row for the device.",
        min_length=1,
        max_length=64,
    )

    def pools(self) -> dict[Role, Pool]:
        """The pools by role, prefill before decode."""
        if isinstance(self.serving, PrefillDecode):
            return {"prefill": self.serving.prefill, "decode": self.serving.decode}
        return {"colocated": self.serving}

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        if faults := tuple(find_faults(self)):
            text = "\n".join(str(fault) for fault in faults)
            raise PydanticCustomError(RULES_ERROR, "{text}", {"text": text, "faults": faults})
        return self
