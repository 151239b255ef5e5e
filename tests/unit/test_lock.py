"""The requirement files fit `lock.toml`, and the check of that notices when they do not."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools import lock
from tools.lock import Entry, Target

TARGET = Target("x", ("ray==1",), ("triton",), ("3.11", "3.12"), "2.34")
GOOD = Entry("ray", "1", "", ("0" * 64,), 10)
LINUX = "sys_platform == 'linux' and platform_machine == 'x86_64'"


def file_of(*entries: Entry) -> str:
    lines = [f"# asked: {TARGET.digest()}", *(entry.text() for entry in entries)]
    return "\n".join(lines) + "\n"


def wheel(name: str, digest: str, size: int = 5) -> dict[str, object]:
    return {"url": f"x/{name}.whl", "size": size, "hashes": {"sha256": digest}}


def test_the_files_fit() -> None:
    assert lock.check(lock.targets()) == []


def test_a_good_file_has_no_faults() -> None:
    assert lock.faults(file_of(GOOD, replace(GOOD, name="vllm", marker="a < '3'")), TARGET) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (file_of(replace(GOOD, hashes=())), "neither a hashed entry nor a hash: ray==1"),
        (file_of(GOOD).replace("    --hash=sha256:", "    # "), "no hash"),
        (f"--pre\n{file_of(GOOD)}", "neither a hashed entry nor a hash"),
        (file_of(GOOD).replace("ray==1", "ray @ scheme://host/x"), "neither a hashed entry"),
        (file_of(replace(GOOD, name="triton")), "triton should be left out"),
        (file_of(GOOD).replace(TARGET.digest(), "0"), "does not fit what is asked for now"),
    ],
)
def test_a_bad_file_has_one(text: str, fault: str) -> None:
    assert any(fault in found for found in lock.faults(text, TARGET))


def test_files_that_are_missing_or_that_nothing_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "FOLDER", tmp_path)
    (tmp_path / "old.txt").write_text("")
    assert lock.check([TARGET]) == ["x.txt: missing", "old.txt: made by no row"]


def test_what_is_written_passes_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "FOLDER", tmp_path)
    target = replace(TARGET, torch_apart=True)
    lock.write(target, [GOOD, replace(GOOD, name="nvidia-nccl"), replace(GOOD, name="torch")])
    assert lock.check([target]) == []
    assert list(lock.pins_in((tmp_path / "x.txt").read_text())) == ["ray"]
    assert list(lock.pins_in((tmp_path / "x-torch.txt").read_text())) == ["nvidia-nccl", "torch"]


def test_only_wheels_for_our_machines_are_kept() -> None:
    package = {
        "name": "Some_Thing",
        "version": "2",
        "marker": LINUX,
        "wheels": [
            wheel("some_thing-2-cp311-cp311-manylinux_2_28_x86_64", "a" * 64, size=9),
            wheel("some_thing-2-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64", "b" * 64),
            wheel("some_thing-2-cp313-cp313-manylinux_2_28_x86_64", "c" * 64),
            wheel("some_thing-2-cp311-cp311-manylinux_2_28_aarch64", "d" * 64),
            wheel("some_thing-2-cp311-cp311-macosx_11_0_arm64", "e" * 64),
            wheel("some_thing-2-cp311-cp311-musllinux_1_2_x86_64", "f" * 64),
        ],
        "sdist": {"hashes": {"sha256": "9" * 64}},
    }
    entry = lock._entry(package, TARGET)
    assert entry == Entry("some-thing", "2", "", ("a" * 64, "b" * 64), 9)


def test_a_package_without_a_wheel_for_one_python_is_refused() -> None:
    wheels = [wheel("a-1-cp311-cp311-manylinux_2_28_x86_64", "a" * 64)]
    with pytest.raises(SystemExit, match=r"a 1 has no wheel for Python 3\.12 and glibc 2\.34"):
        lock._entry({"name": "a", "version": "1", "wheels": wheels}, TARGET)


@pytest.mark.parametrize(
    ("marker", "kept"),
    [
        (LINUX, ""),
        (f"{LINUX} and python_full_version >= '3.6'", ""),
        (f"python_full_version >= '3.12' and {LINUX}", "python_full_version >= '3.12'"),
    ],
)
def test_a_marker_is_kept_where_it_matters(marker: str, kept: str) -> None:
    wheels = [wheel("a-1-py3-none-any", "a" * 64)]
    entry = lock._entry({"name": "a", "version": "1", "marker": marker, "wheels": wheels}, TARGET)
    assert entry is not None
    assert entry.marker == kept


def test_what_no_supported_python_needs_is_dropped() -> None:
    package = {"name": "a", "version": "1", "marker": "python_full_version >= '3.14'"}
    assert lock._entry(package, TARGET) is None
