"""Where a spec is run."""

import ipaddress
import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from rayspan.spec.base import Strict, not_allowed
from rayspan.units import Bytes

_HOST_NAME: Final = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def _check_host(value: str) -> str:
    try:
        ipaddress.IPv4Address(value)
    except ValueError:
        if not _HOST_NAME.fullmatch(value):
            raise not_allowed("an IPv4 address or a host name", "write 127.0.0.1") from None
    return value


def _is_cpu(fields: dict[str, Any]) -> bool:
    return bool(fields["device"] == "cpu")


class LocalTarget(Strict):
    """This machine: one Ray node with every engine on it."""

    kind: Literal["local"] = Field(default="local", description="Run on this machine.")
    host: Annotated[str, AfterValidator(_check_host)] = Field(
        default="127.0.0.1",
        description="Address that the endpoint listens on. It speaks plain HTTP and asks for no "
        "key: anything but a loopback address opens it to the network.",
        max_length=253,
    )
    port: int = Field(
        default=8000,
        ge=1,
        le=65535,
        description="Port of the OpenAI-compatible endpoint.",
        json_schema_extra={"unit": "port"},
    )
    dashboard_port: int = Field(
        default=8265,
        ge=1,
        le=65535,
        description="Port of Ray's dashboard, on 127.0.0.1.",
        json_schema_extra={"unit": "port"},
    )
    device: Literal["cpu", "cuda"] = Field(
        default="cpu", description="What the engines compute on."
    )
    threads_per_engine: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="OpenMP threads of each device of an engine. Read on cpu only.",
        json_schema_extra={"unit": "threads"},
    )
    enforce_eager: bool = Field(
        default_factory=_is_cpu,
        description="Run the model without compiling it: starts sooner, computes slower. "
        "Left out: true on cpu, false on cuda.",
    )
    object_store: Bytes = Field(
        default=Bytes("200MiB"),
        ge=75 * 2**20,
        le=2**44,
        description="Shared memory of Ray's object store; engines do not use it for the KV cache.",
        json_schema_extra={"unit": "bytes"},
    )

    @property
    def is_loopback(self) -> bool:
        """Whether the endpoint can be reached from this machine only."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.IPv4Address(self.host).is_loopback
        except ValueError:
            return False
