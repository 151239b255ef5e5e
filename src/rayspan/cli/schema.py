"""`rayspan schema`"""

from rayspan.spec import schema_text


def command() -> None:
    """Print the JSON schema of the spec, for editors and validators."""
    print(schema_text(), end="")
