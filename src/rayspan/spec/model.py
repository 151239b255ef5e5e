"""Which model is served, under which name, from where."""

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from rayspan.spec.base import Strict, not_allowed, suggest

BUILTIN_MODELS: Final = ("smollm2-135m",)
_BUILTIN: Final = "builtin:"
_FOLDER_STARTS: Final = ("/", "./", "../", "~")
_WORD: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ID: Final = re.compile(rf"{_WORD}(/{_WORD})*")
# huggingface_hub refuses the others, and what is longer than 96 characters.
_HUB_ID: Final = re.compile(rf"(?!.*(--|\.\.))(?=.{{1,96}}$){_WORD}(/{_WORD})?")
_LONGEST_ID: Final = 96


def _check_id(value: str) -> str:
    # Ray takes what follows a ":" for the name of a LoRA adapter and answers 404; "/" and "." it
    # turns into "--" and "_" in its deployment names.
    if len(value) > _LONGEST_ID or not _ID.fullmatch(value):
        raise not_allowed(
            f'letters, digits, ".", "_", "-", "/" between parts, at most {_LONGEST_ID} characters',
            "choose a name such as smollm2-135m or Qwen/Qwen3-0.6B",
        )
    return value


def _check_source(value: str) -> str:
    if value.startswith(_BUILTIN):
        name = value.removeprefix(_BUILTIN)
        if name not in BUILTIN_MODELS:
            allowed = [_BUILTIN + model for model in BUILTIN_MODELS]
            raise not_allowed(", ".join(allowed) + suggest(value, allowed))
    elif "://" in value:
        raise not_allowed(
            "builtin:NAME, a hub id, or a local folder; addresses are not read by this version",
            "download the model into a folder and give its path",
        )
    elif not value.startswith(_FOLDER_STARTS) and not _HUB_ID.fullmatch(value):
        raise not_allowed(
            "builtin:NAME, a hub id such as Qwen/Qwen3-0.6B, or a folder that begins with "
            + ", ".join(_FOLDER_STARTS),
            "write ./ before a folder's relative path",
        )
    return value


Dtype = Literal["auto", "float32", "bfloat16", "float16"]


class Model(Strict):
    """The model that clients see as one."""

    id: Annotated[str, AfterValidator(_check_id)] = Field(
        description='What clients send as "model". Letters, digits, ".", "_", "-", "/".',
        min_length=1,
        max_length=_LONGEST_ID,
    )
    source: Annotated[str, AfterValidator(_check_source)] = Field(
        description="Where the weights are: builtin:smollm2-135m, a hub id, or a local folder that "
        "begins with /, ./, ../ or ~ (relative to where the command runs).",
        min_length=1,
        max_length=4096,
    )
    max_model_len: int | None = Field(
        default=None,
        ge=1,
        le=2**24,
        description="Longest prompt and answer together. Left out: what the model was made for.",
        json_schema_extra={"unit": "tokens"},
    )
    dtype: Dtype = Field(
        default="auto",
        description="Type of weights and of the KV cache; auto takes the checkpoint's.",
    )
