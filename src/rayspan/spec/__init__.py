"""The YAML that says what to serve, how and where, as strict frozen models."""

from rayspan.spec.load import builtin_spec, load_spec, parse_spec, schema_text
from rayspan.spec.pool import Pool, Role
from rayspan.spec.root import Dtype, LocalTarget, Model, Spec
from rayspan.spec.serving import Colocated, PrefillDecode, Transport

__all__ = [
    "Colocated",
    "Dtype",
    "LocalTarget",
    "Model",
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
