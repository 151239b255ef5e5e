import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayspan.adapters import processes


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose output goes to a file below tmp_path, as an engine's does."""
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(["sleep", "60"], stdout=log)
    yield process
    process.kill()
    process.wait()


def test_a_process_is_found_by_a_file_it_holds(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert processes.holders_of(tmp_path) == [sleeper.pid]
    assert processes.holders_of(tmp_path / "other") == []
    assert processes.output_file(sleeper.pid) == str(tmp_path / "log")


def test_a_process_is_found_by_its_command_line(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "input()", str(tmp_path)], stdin=subprocess.PIPE
    )
    assert processes.holders_of(tmp_path) == [process.pid]
    process.communicate(b"\n")


def test_ending_a_process(sleeper: subprocess.Popen[bytes]) -> None:
    assert processes.is_alive(sleeper.pid)
    assert processes.end(sleeper.pid, patience_s=5)
    assert not processes.is_alive(sleeper.pid)


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    code = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    assert not processes.end(process.pid, patience_s=0.1)
    assert not processes.is_alive(process.pid)
    process.communicate()


def test_ending_what_is_gone_is_no_error() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert processes.end(process.pid, patience_s=1)
    processes.kill_all([process.pid])
    processes.wait_for_end(process.pid)
    assert processes.pss_bytes(process.pid) == 0
    assert processes.output_file(process.pid) == ""


def test_a_taken_port_names_who_took_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        holder = processes.listener_on("127.0.0.1", port)
        assert holder
        assert holder.pid == os.getpid()
        assert processes.listening_ports([os.getpid()])[os.getpid()] == [port]
    assert processes.listener_on("127.0.0.1", port) is None


def test_a_detached_process_is_out_of_reach_of_ctrl_c(tmp_path: Path) -> None:
    pid = processes.start_detached(["/bin/sleep", "60"], {"A": "b"}, tmp_path / "log")
    assert os.getsid(pid) == pid
    processes.end(pid, patience_s=5)


def test_waiting_for_the_end(sleeper: subprocess.Popen[bytes]) -> None:
    start = time.monotonic()
    subprocess.Popen([sys.executable, "-c", f"import os; os.kill({sleeper.pid}, 15)"]).wait()
    processes.wait_for_end(sleeper.pid)
    assert time.monotonic() - start < 10


def test_disk_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    assert processes.free_disk_bytes(tmp_path / "a" / "b") > 0
    assert processes.available_memory_bytes() > 0
    assert processes.pss_bytes(os.getpid()) > 0
