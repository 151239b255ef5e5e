"""A process forked by a preload server must look to its caller like an interpreter that was run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rayspan.local.preload import child, server, tree

SERVER = """
import os, sys, threading
from pathlib import Path
import colorsys  # stands for what is preloaded
from rayspan.local.preload import root, server
folder = Path(sys.argv[1])
have, stand_in, listener = root._prepare(folder, "test")
if sys.argv[2] == "threads":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("listening", flush=True)
forked = server.PreloadServer(listener, stand_in, have, owner=os.getppid()).serve()
sys.exit(forked.become() if forked else 0)
"""


def start_server(folder: Path, option: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SERVER, str(folder), option]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "listening\n"
    return process


@pytest.fixture
def python(tmp_path: Path) -> Iterator[str]:
    """A stand-in interpreter with `colorsys` preloaded."""
    process = start_server(tmp_path)
    yield str(tmp_path / "test-python")
    process.kill()
    process.communicate()


def run(python: str, *arguments: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [python, *arguments], check=False, capture_output=True, text=True, timeout=20, **kwargs
    )


WAS_FORKED = "import sys; print('colorsys' in sys.modules)"


def test_code_is_run_in_a_fork(python: str) -> None:
    result = run(python, "-c", WAS_FORKED)
    assert (result.stdout, result.stderr, result.returncode) == ("True\n", "", 0)


def test_arguments_environment_folder_and_input_arrive(python: str, tmp_path: Path) -> None:
    code = "import os, sys; print(sys.argv, os.environ['X'], os.getcwd(), sys.stdin.read())"
    result = run(python, "-c", code, "a b", env={"X": "1"}, cwd=tmp_path, input="typed")
    assert result.stdout == f"['-c', 'a b'] 1 {tmp_path} typed\n"


def test_environment_of_the_server_does_not_leak(python: str) -> None:
    assert "HOME" in os.environ
    assert run(python, "-c", "import os; print('HOME' in os.environ)", env={}).stdout == "False\n"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(7)", 7),
        ("raise SystemExit('no')", 1),
        ("1 / 0", 1),
        ("import os; os._exit(9)", 9),
        ("import os; os.kill(os.getpid(), 15)", -15),
        ("import os; os.kill(os.getpid(), 9)", -9),
    ],
)
def test_exit_status_is_handed_on(python: str, code: str, status: int) -> None:
    assert run(python, "-c", code).returncode == status


def test_traceback_and_exit_handlers_are_as_usual(python: str) -> None:
    result = run(python, "-c", "import atexit; atexit.register(print, 'bye'); 1 / 0")
    assert result.stdout == "bye\n"
    assert "ZeroDivisionError" in result.stderr


def test_scripts_and_modules_run_as_main(python: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sibling, sys; print(__name__, sibling.X, sys.argv[1:])")
    (tmp_path / "sibling.py").write_text("X = 5")
    assert run(python, str(script), "q").stdout == "__main__ 5 ['q']\n"
    assert run(python, "-u", "-m", "calendar", "2026", "12").stdout.startswith("   December 2026")


def test_unusual_options_get_a_real_interpreter(python: str) -> None:
    assert run(python, "-X", "utf8", "-c", WAS_FORKED).stdout == "False\n"


def test_another_import_time_environment_gets_a_real_interpreter(python: str) -> None:
    result = run(python, "-c", WAS_FORKED, env={**os.environ, "OMP_NUM_THREADS": "99"})
    assert result.stdout == "False\n"


def test_a_server_with_a_second_thread_forks_nothing(tmp_path: Path) -> None:
    process = start_server(tmp_path, "threads")
    assert run(str(tmp_path / "test-python"), "-c", WAS_FORKED).stdout == "False\n"
    process.kill()
    process.communicate()


def test_without_a_server_a_real_interpreter_runs(tmp_path: Path) -> None:
    process = start_server(tmp_path)
    process.kill()
    process.communicate()
    assert run(str(tmp_path / "test-python"), "-c", WAS_FORKED).stdout == "False\n"


def test_spawned_children_are_forked_too(python: str, tmp_path: Path) -> None:
    script = tmp_path / "spawner.py"
    script.write_text(
        "import multiprocessing as mp, sys\n"
        "def work(queue): queue.put('colorsys' in sys.modules)\n"
        "if __name__ == '__main__':\n"
        "    context = mp.get_context('spawn'); queue = context.Queue()\n"
        "    process = context.Process(target=work, args=(queue,)); process.start()\n"
        "    print(queue.get(timeout=10)); process.join(); print(process.exitcode)\n"
    )
    assert run(python, str(script)).stdout == "True\n0\n"


SLEEPER = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


def start_sleeper(python: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    caller = subprocess.Popen([python, "-c", SLEEPER], stdout=subprocess.PIPE, text=True)
    assert caller.stdout
    return caller, psutil.Process(int(caller.stdout.readline()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_ending_the_stand_in_ends_the_fork(python: str, number: signal.Signals) -> None:
    caller, forked = start_sleeper(python)
    caller.send_signal(number)
    forked.wait(timeout=5)
    caller.communicate(timeout=5)
    assert (
        caller.returncode == (1 if number == signal.SIGINT else -number) or number == signal.SIGINT
    )


def test_a_fork_does_not_outlive_the_parent_of_its_stand_in(python: str) -> None:
    code = f"import subprocess, sys; subprocess.run([{python!r}, '-c', {SLEEPER!r}])"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    forked = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    forked.wait(timeout=5)
    parent.communicate(timeout=5)


def test_a_killed_fork_is_reported_as_killed(python: str) -> None:
    caller, forked = start_sleeper(python)
    forked.kill()
    caller.communicate(timeout=5)
    assert caller.returncode == -signal.SIGKILL


def test_random_numbers_differ_between_forks(python: str) -> None:
    draws = {run(python, "-c", "import random; print(random.random())").stdout for _ in range(3)}
    assert len(draws) == 3


def test_misfits_names_what_differs() -> None:
    have = {"OMP_NUM_THREADS": "1", "LD_PRELOAD": "/lib/libgomp.so", "HOME": "/a"}
    assert server.misfits({**have, "HOME": "/b"}, have) == []
    assert server.misfits({"LD_PRELOAD": "/lib/libgomp.so"}, have) == ["OMP_NUM_THREADS"]
    assert server.misfits({**have, "LD_PRELOAD": "/lib/other.so"}, have) == ["LD_PRELOAD"]
    assert server.misfits({**have, "LD_PRELOAD": "/ray/libjemalloc.so"}, have) == []


def test_agents_that_watch_their_parent_are_not_forked() -> None:
    assert child.parse(["/site/ray/dashboard/agent.py", "--x"]) is None
    assert child.parse(["/site/ray/dashboard/dashboard.py", "--x"]) is not None


def test_descendants_are_all_ended() -> None:
    code = (
        "import subprocess, sys, time\n"
        "from rayspan.local.preload import tree\n"
        "tree.adopt_orphans()\n"
        'inner = \'import subprocess, sys; subprocess.Popen(["sleep", "60"]); \'\n'
        "subprocess.run([sys.executable, '-c', inner])\n"
        "import os; print(*tree.descendants(os.getpid()), flush=True)\n"
        "tree.end_descendants(); print(*tree.descendants(os.getpid()))\n"
    )
    result = run(sys.executable, "-c", code)
    before, after = result.stdout.splitlines()
    assert len(before.split()) == 1
    assert after == ""


LEAKER = """
from multiprocessing import shared_memory
import time
print(shared_memory.SharedMemory(create=True, size=64).name, flush=True); time.sleep(60)
"""
ROOT_OF_A_LEAKER = f"""
import os, subprocess, sys, time
from rayspan.local.preload import tree
tree.adopt_orphans()
folder = sys.argv[1]
server = subprocess.Popen([sys.executable, "-c", {SERVER!r}, folder, ""], stdout=subprocess.PIPE)
server.stdout.readline()
leaker = subprocess.Popen([folder + "/test-python", "-c", {LEAKER!r}], stdout=subprocess.PIPE)
print(leaker.stdout.readline().decode().strip(), flush=True)
while tree.TRACKER not in map(tree._comm, tree.descendants(os.getpid())):
    time.sleep(0.01)  # the tracker is started, but may not run yet
tree.end_descendants()
"""


def test_trackers_are_left_to_finish_their_work(tmp_path: Path) -> None:
    name = run(sys.executable, "-c", ROOT_OF_A_LEAKER, str(tmp_path)).stdout.strip()
    assert name.startswith("psm_")
    assert not Path("/dev/shm", name).exists()


def test_a_name_is_given() -> None:
    code = (
        "from rayspan.local.preload import tree; tree.name_this_process(tree.TRACKER)\n"
        "print(open('/proc/self/comm').read().strip())"
    )
    assert run(sys.executable, "-c", code).stdout.strip() == tree.TRACKER


def test_the_server_ends_with_its_owner(tmp_path: Path) -> None:
    command = f"[sys.executable, '-c', {SERVER!r}, {str(tmp_path)!r}, '']"
    code = f"import subprocess, sys; subprocess.run({command})"
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    owner.stdout.readline()
    process = psutil.Process(owner.pid).children()[0]
    owner.kill()
    owner.wait()
    deadline = time.monotonic() + 5
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    owner.stdout.close()
