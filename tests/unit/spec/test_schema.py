"""The packaged JSON schema is the models' own, and means what they mean."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from rayspan.spec import schema_text
from rayspan.spec.document import read_document
from tests.tree import ROOT
from tools.gen_schema import HOME

SPECS = sorted((ROOT / "examples").glob("*/spec.yaml"))


def test_schema_file_is_up_to_date() -> None:
    assert HOME.read_text() == schema_text(), "run python tools/gen_schema.py"


def test_every_property_is_described() -> None:
    definitions = json.loads(schema_text())["$defs"]
    models = [each for each in definitions.values() if "properties" in each]
    assert len(models) > 5
    for model in models:
        for name, property_schema in model["properties"].items():
            assert property_schema.get("description"), name


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.parent.name)
def test_examples_fit_the_schema(path: Path) -> None:
    Draft202012Validator(json.loads(schema_text())).validate(
        read_document(path.read_text(), path.name).data
    )


def test_an_unknown_field_does_not() -> None:
    data = read_document(SPECS[0].read_text(), "spec").data
    with pytest.raises(ValidationError, match="replcas"):
        Draft202012Validator(json.loads(schema_text())).validate({**data, "replcas": 1})
