from pathlib import Path

import pytest

from rayspan.errors import WorldError
from rayspan.local import run_folder as rf
from rayspan.spec import builtin_spec


def deployment(folder: Path) -> rf.Deployment:
    return rf.Deployment(
        spec=builtin_spec(),
        model_folder="/m",
        api_base="http://127.0.0.1:8000",
        dashboard="http://127.0.0.1:8265",
        nodes=(rf.Node("head", "127.0.0.1", 7, "http://127.0.0.1:1/metrics", folder, "lo"),),
    )


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert rf.read_record(tmp_path) is None
    rf.write_record(tmp_path, deployment(tmp_path))
    assert rf.read_record(tmp_path) == deployment(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"spec": {"model": 1}}'])
def test_another_versions_record_is_said_to_be_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "deployment.json").write_text(text)
    with pytest.raises(WorldError, match="written by another version"):
        rf.read_record(tmp_path)


def test_the_root_is_known_without_a_record(tmp_path: Path) -> None:
    assert rf.read_root_pid(tmp_path) is None
    rf.write_root_pid(tmp_path, 7)
    assert rf.read_root_pid(tmp_path) == 7
    (tmp_path / "root.pid").write_text("")
    assert rf.read_root_pid(tmp_path) is None


def test_a_folder_too_long_for_sockets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rf.VARIABLE, f"/tmp/{'x' * 60}")
    with pytest.raises(WorldError, match="65 characters long; sockets below it allow 40"):
        rf.run_folder()
    monkeypatch.setenv(rf.VARIABLE, "/tmp/short")
    assert rf.run_folder() == Path("/tmp/short")
