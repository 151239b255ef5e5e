"""The whole spec."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rayspan.spec import rules
from rayspan.spec.pool import Pool, Role
from rayspan.spec.serving import Colocated, PrefillDecode
from rayspan.spec.strict import Strict
from rayspan.units import Bytes

Dtype = Literal["auto", "float32", "bfloat16", "float16"]


class Model(Strict):
    """The model that is served."""

    id: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$",
            max_length=96,
            description='What clients send as "model": letters, digits, ".", "_", "-", one "/".',
        ),
    ]
    source: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1024,
            description="Where the weights are: builtin:smollm2-135m, a folder that starts with "
            "/, ./, ../ or ~, or a hub id such as Qwen/Qwen3-0.6B.",
        ),
    ]
    max_model_len: Annotated[
        int | None,
        Field(ge=1, le=1 << 24, description="Tokens of prompt and answer together, 1 to 16777216."),
    ] = None
    dtype: Annotated[
        Dtype, Field(description="Number format of weights and KV cache; auto: the checkpoint's.")
    ] = "auto"


class LocalTarget(Strict):
    """This machine."""

    kind: Annotated[Literal["local"], Field(description="Where to run: this machine.")] = "local"
    host: Annotated[
        str, Field(min_length=1, max_length=253, description="Address the endpoint listens on.")
    ] = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535, description="TCP port of the endpoint.")] = 8000
    dashboard_port: Annotated[
        int, Field(ge=1, le=65535, description="TCP port of Ray's dashboard, on loopback.")
    ] = 8265
    device: Annotated[
        Literal["cpu", "cuda"], Field(description="What engines compute on; cuda: one GPU a rank.")
    ] = "cpu"
    threads_per_engine: Annotated[
        int, Field(ge=1, le=512, description="CPU threads of one engine, 1 to 512; cpu only.")
    ] = 1
    enforce_eager: Annotated[
        bool | None,
        Field(description="Run without compiling the model; if left out: true on cpu, else false."),
    ] = None
    object_store: Annotated[
        Bytes, Field(description="Size of Ray's shared-memory object store, at least 75MiB.")
    ] = Bytes("200MiB")


class Spec(Strict):
    """One model, served one way, in one place."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
            max_length=63,
            description='Name of the deployment: lower-case letters, digits and "-".',
        ),
    ] = "rayspan"
    model: Annotated[Model, Field(description="The model that is served.")]
    stack: Annotated[
        str | None,
        Field(description="Stack row, as `rayspan stack list` shows it; if left out: the device's."),
    ] = None
    serving: Annotated[
        PrefillDecode | Colocated,
        Field(discriminator="kind", description="How engines share the work."),
    ]
    target: Annotated[LocalTarget, Field(description="Where it runs.")] = LocalTarget()

    @model_validator(mode="after")
    def _check_across_fields(self) -> "Spec":
        rules.check(self)
        return self

    def pools(self) -> dict[Role, Pool]:
        """The pools by role, in the order in which a request meets them."""
        if isinstance(self.serving, PrefillDecode):
            return {"prefill": self.serving.prefill, "decode": self.serving.decode}
        return {"colocated": self.serving}

    @property
    def eager(self) -> bool:
        """Whether engines run without compiling the model."""
        chosen = self.target.enforce_eager
        return self.target.device == "cpu" if chosen is None else chosen
