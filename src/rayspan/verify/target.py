"""What is verified: a running deployment, and what its spec and its model promise."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rayspan.errors import InputError
from rayspan.facts.shape import ModelShape, read_shape
from rayspan.plan.kv_bytes import CacheSettings
from rayspan.spec import Pool, PrefillDecode, Spec

_DEFAULT_BLOCK = {"cpu": 128, "cuda": 16}
_DEFAULT_STEP_TOKENS = 512
_AUTO = "auto"


class DeployedNode(Protocol):
    """A Ray node, as this machine sees it. `interface` holds `address`."""

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def root_pid(self) -> int: ...
    @property
    def interface(self) -> str: ...


class Deployed(Protocol):
    """The part of a deployment's record that checks need."""

    @property
    def spec(self) -> Spec: ...
    @property
    def api_base(self) -> str: ...
    @property
    def metrics_urls(self) -> tuple[str, ...]: ...
    @property
    def log_folders(self) -> tuple[Path, ...]: ...
    @property
    def model_folder(self) -> str: ...
    @property
    def dashboard(self) -> str: ...
    @property
    def nodes(self) -> Sequence[DeployedNode]: ...


@dataclass(frozen=True, slots=True)
class Target:
    """Expectations, all from the spec and the model's own config. `shape` is None when unknown."""

    spec: Spec
    shape: ModelShape | None
    unknown_shape: str = ""
    end_token: int | None = None

    def known_shape(self) -> ModelShape:
        """Raises InputError when it is not known."""
        if self.shape is None:
            raise InputError(f"the expected numbers are unknown: {self.unknown_shape}")
        return self.shape

    @property
    def split(self) -> bool:
        return isinstance(self.spec.serving, PrefillDecode)

    @property
    def transport(self) -> str:
        serving = self.spec.serving
        return serving.transport.kind if isinstance(serving, PrefillDecode) else ""

    @property
    def lease_s(self) -> int:
        serving = self.spec.serving
        return serving.kv_lease_s if isinstance(serving, PrefillDecode) else 0

    @property
    def answering_pool(self) -> Pool:
        """The pool whose engines generate the tokens."""
        pools = self.spec.pools()
        return pools["decode"] if "decode" in pools else pools["colocated"]

    @property
    def dtype(self) -> str:
        """What the engine serves: `auto` keeps the checkpoint's, but halves float32."""
        if (chosen := self.spec.model.dtype) != _AUTO:
            return chosen
        own = self.shape.dtype if self.shape else "bfloat16"
        return "bfloat16" if own == "float32" else own

    def block_size(self, pool: Pool) -> int:
        return pool.block_size or _DEFAULT_BLOCK[self.spec.target.device]

    def block_sizes(self) -> tuple[int, ...]:
        return tuple(sorted({self.block_size(pool) for pool in self.spec.pools().values()}))

    @property
    def context(self) -> int | None:
        """The longest prompt and answer together, in tokens."""
        return self.spec.model.max_model_len or (self.shape.context if self.shape else None)

    def step_tokens(self) -> int:
        """Tokens that the engine computing prompts takes in one step."""
        first = next(iter(self.spec.pools().values()))
        return first.max_num_batched_tokens or _DEFAULT_STEP_TOKENS

    def cache_settings(self) -> CacheSettings:
        """Reads go block by block of the smaller size when the pools' sizes differ."""
        pool = self.answering_pool
        return CacheSettings(
            block_size=min(self.block_sizes()),
            dtype=self.dtype,
            kv_cache_dtype=str(pool.engine.get("kv_cache_dtype", _AUTO)),
            tensor_parallel=pool.tensor_parallel,
            state_dtype=_explicit(pool.engine.get("mamba_ssm_cache_dtype")),
            one_group=bool(pool.engine.get("disable_hybrid_kv_cache_manager")),
        )


def _explicit(dtype: object) -> str | None:
    return None if dtype in (None, _AUTO) else str(dtype)


def read_target(deployed: Deployed) -> Target:
    """Never raises for an unknown model: the checks that need its shape then say so."""
    try:
        config = _read_config(deployed.model_folder)
        return Target(deployed.spec, read_shape(config), end_token=_end_token(config))
    except InputError as error:
        return Target(deployed.spec, None, error.message)


def _end_token(config: dict[str, object]) -> int | None:
    """The first token id that ends an answer."""
    named = config.get("eos_token_id")
    first = named[0] if isinstance(named, list) and named else named
    return first if isinstance(first, int) else None


def _read_config(model_folder: str) -> dict[str, object]:
    path = Path(model_folder) / "config.json"
    try:
        config: dict[str, object] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the model's shape from {path}: {error}") from error
    return config
