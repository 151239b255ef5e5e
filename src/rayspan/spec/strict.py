"""The base of all spec models: nothing unknown, nothing changed after loading."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
