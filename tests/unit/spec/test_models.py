"""What every field of the spec must say of itself, and what a spec is once it exists."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from rayspan.spec import Colocated, LocalTarget, Model, Pool, PrefillDecode, Spec, builtin_spec
from rayspan.units import Bytes
from tests.unit.spec.valid_specs import anything, specs

MODELS: list[type[BaseModel]] = [Spec, Model, Pool, PrefillDecode, Colocated, LocalTarget]
NUMBERS = {int, float, Bytes}


def fields() -> Iterator[tuple[str, FieldInfo]]:
    for model in MODELS:
        for name, info in model.model_fields.items():
            yield f"{model.__name__}.{name}", info


def is_number(info: FieldInfo) -> bool:
    return bool(NUMBERS & {info.annotation, *get_args(info.annotation)})


@pytest.mark.parametrize(("name", "info"), list(fields()), ids=[name for name, _ in fields()])
def test_every_field_describes_itself(name: str, info: FieldInfo) -> None:
    assert info.description, name
    assert info.description.endswith("."), name
    if is_number(info):
        extra = info.json_schema_extra
        assert isinstance(extra, dict), name
        assert extra["unit"], name
        assert {"Ge", "Le"} <= {type(item).__name__ for item in info.metadata}, name


def test_some_fields_are_numbers() -> None:
    assert sum(is_number(info) for _, info in fields()) > 10


@pytest.mark.parametrize("model", MODELS)
def test_models_are_frozen_and_strict(model: type[BaseModel]) -> None:
    config = model.model_config
    assert (config.get("frozen"), config.get("extra"), config.get("strict")) == (
        True,
        "forbid",
        True,
    )


def test_nothing_is_set_after_reading() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        builtin_spec().model.id = "other"


@given(specs())
@anything
def test_a_spec_survives_being_written_down(data: dict[str, Any]) -> None:
    spec = Spec.model_validate(data)
    assert Spec.model_validate(spec.model_dump(mode="json")) == spec
    assert Spec.model_validate_json(spec.model_dump_json()) == spec


def test_defaults_follow_the_device() -> None:
    serving = {"kind": "colocated"}
    model = {"id": "m", "source": "org/m"}
    cpu = Spec.model_validate({"model": model, "serving": serving})
    cuda = Spec.model_validate(
        {"model": model, "serving": serving, "target": {"kind": "local", "device": "cuda"}}
    )
    assert (cpu.target.enforce_eager, cuda.target.enforce_eager) == (True, False)
    assert cpu.stack == f"{cuda.stack}-cpu"


def test_pools_by_role() -> None:
    split = builtin_spec()
    assert list(split.pools()) == ["prefill", "decode"]
    whole = split.model_copy(update={"serving": Colocated(kind="colocated", replicas=3)})
    assert list(whole.pools()) == ["colocated"]
    assert whole.pools()["colocated"].replicas == 3


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("my-host", False),
    ],
)
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert LocalTarget(host=host).is_loopback is loopback


@pytest.mark.parametrize("source", ["gpt2", "Qwen/Qwen3-0.6B", "/m", "./m", "../m", "~/m", "~"])
def test_sources(source: str) -> None:
    assert Model(id="m", source=source).source == source


@pytest.mark.parametrize(
    "source", ["a/b/c", "a--b/c", "a/b..c", "-a", ".a", "a b", "a/", "x" * 97, "hf://a/b", ""]
)
def test_no_sources(source: str) -> None:
    with pytest.raises(ValidationError):
        Model(id="m", source=source)


@pytest.mark.parametrize("model_id", ["m", "Qwen/Qwen3-0.6B", "a/b/c", "a--b", "GPT_4.x"])
def test_ids(model_id: str) -> None:
    assert Model(id=model_id, source="m").id == model_id


@pytest.mark.parametrize("model_id", ["", "/m", "m/", "a//b", "a:b", "a b", ".m", "a#b", "x" * 97])
def test_no_ids(model_id: str) -> None:
    with pytest.raises(ValidationError):
        Model(id=model_id, source="m")
