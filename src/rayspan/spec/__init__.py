"""The YAML that says what to serve, how and where, as strict frozen models."""

from rayspan.spec.load import builtin_spec, load_spec, parse_spec
from rayspan.spec.model import Dtype, Model
from rayspan.spec.pool import Placement, Pool, Role
from rayspan.spec.root import Spec
from rayspan.spec.schema import schema_text
from rayspan.spec.serving import (
    SIDE_CHANNEL_BASES,
    STORE_BASES,
    STORE_PORTS,
    Colocated,
    PrefillDecode,
    Transport,
)
from rayspan.spec.target import LocalTarget

__all__ = [
    "SIDE_CHANNEL_BASES",
    "STORE_BASES",
    "STORE_PORTS",
    "Colocated",
    "Dtype",
    "LocalTarget",
    "Model",
    "Placement",
    "Pool",
    "PrefillDecode",
    "Role",
    "Spec",
    "Transport",
    "builtin_spec",
    "load_spec",
    "parse_spec",
    "schema_text",
]
