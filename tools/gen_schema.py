"""Writes the spec's JSON schema beside its models.

python tools/gen_schema.py [--check]
"""

import sys
from pathlib import Path

from rayspan.spec import schema_text

HOME = Path(__file__).parents[1] / "src/rayspan/spec/schema.json"


def main() -> int:
    if "--check" not in sys.argv[1:]:
        HOME.write_text(schema_text(), encoding="utf-8")
    elif not HOME.exists() or HOME.read_text(encoding="utf-8") != schema_text():
        print(f"{HOME} is out of date: run {sys.argv[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
