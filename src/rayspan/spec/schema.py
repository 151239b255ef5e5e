"""The JSON schema of a spec, for editors and validators. `schema.json` is the same text."""

import json
from typing import Any, Final

from rayspan.spec.root import Spec

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """The schema as deterministic text."""
    schema: dict[str, Any] = {"$schema": _DIALECT, **Spec.model_json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
