"""Turns `model.source` of a spec into what engines load, and refuses a folder they could not."""

from pathlib import Path

from rayspan.errors import InputError
from rayspan.local.builtin_model import NAME, prepare_builtin_model
from rayspan.spec import Spec

_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "tekken.json",
    "vocab.json",
)


def is_folder(source: str) -> bool:
    return source.startswith(("/", "./", "../", "~"))


def resolve_model(spec: Spec) -> str:
    """A folder's absolute path, or a hub id unchanged. Converts the built-in model if need be.

    Raises InputError naming what a model folder lacks.
    """
    source = spec.model.source
    if source.startswith("builtin:"):
        if source != f"builtin:{NAME}":
            raise InputError(f"model.source: no built-in model {source!r}; there is builtin:{NAME}")
        return str(prepare_builtin_model())
    if not is_folder(source):
        return source
    folder = Path(source).expanduser().resolve()
    needs_weights = all(pool.engine.get("load_format") != "dummy" for pool in spec.pools().values())
    _check_folder(folder, needs_weights)
    return str(folder)


def _check_folder(folder: Path, needs_weights: bool) -> None:
    if not folder.is_dir():
        raise InputError(
            f"model.source: {folder} is not a folder",
            fix="give a folder, a hub id such as Qwen/Qwen3-0.6B, or builtin:smollm2-135m",
        )
    missing = []
    if not (folder / "config.json").is_file():
        missing.append("config.json")
    if needs_weights and not any(next(folder.glob(p), None) for p in _WEIGHTS):
        missing.append("weights (*.safetensors)")
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        missing.append("a tokenizer (tokenizer.json)")
    if missing:
        raise InputError(
            f"model.source: {folder} has no {', no '.join(missing)}",
            fix="copy the whole model folder, as `huggingface-cli download` or "
            "`save_pretrained` leaves it",
        )


def weight_bytes(model: str) -> int:
    """Size of a folder's weight files; 0 for a hub id, whose size is not known here."""
    folder = Path(model)
    return sum(path.stat().st_size for pattern in _WEIGHTS for path in folder.glob(pattern))
