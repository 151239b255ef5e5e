"""Turns a fresh fork of the preload server into the Python process that was asked for."""

import fcntl
import multiprocessing
import os
import random
import runpy
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from rayspan.local.preload import tree

Request = dict[str, Any]
# Ray's agents end themselves unless their parent process is the raylet.
_NEEDS_ITS_PARENT = ("/dashboard/agent.py", "/runtime_env/agent/main.py")
# Reads its arguments and calls exec: what it had imported does not matter.
EXECS_AT_ONCE = "/_private/workers/setup_worker.py"
_IGNORED_FLAGS = {"-u", "-B", "-s", "-P"}


@dataclass(frozen=True, slots=True)
class Runnable:
    """What a Python command line runs: code after `-c`, a module after `-m`, or a script."""

    argv: list[str]
    code: str | None = None
    script: str | None = None
    module: str | None = None


@dataclass(frozen=True, slots=True)
class Forked:
    """A request, in the fork that is to carry it out."""

    runnable: Runnable
    request: Request
    fds: list[int]
    stand_in: str  # what this process starts further Python processes with

    def become(self) -> int:
        """Takes over descriptors, environment and directory, runs, and gives the exit status."""
        _take_fds(self.fds, self.request["fds"])
        _take_environment(self.request["env"])
        os.chdir(self.request["cwd"])
        _reset_process(self.stand_in)
        return _run(self.runnable)


def parse(arguments: Sequence[str]) -> Runnable | None:
    """The runnable of an interpreter's arguments; None for those a fork cannot imitate."""
    rest = list(arguments)
    while rest and rest[0] in _IGNORED_FLAGS:
        rest.pop(0)
    if len(rest) >= 2 and rest[0] == "-c":
        return Runnable(argv=["-c", *rest[2:]], code=rest[1])
    if len(rest) >= 2 and rest[0] == "-m":
        return Runnable(argv=rest[1:], module=rest[1])
    if rest and not rest[0].startswith("-") and not rest[0].endswith(_NEEDS_ITS_PARENT):
        return Runnable(argv=rest, script=rest[0])
    return None


def _take_fds(received: list[int], numbers: list[int]) -> None:
    """Puts each received descriptor at the number it had in the caller, and closes all others."""
    above = max([*numbers, *received, 2]) + 1
    parked = [fcntl.fcntl(fd, fcntl.F_DUPFD, above) for fd in received]
    os.closerange(0, above)
    for fd, number in zip(parked, numbers, strict=True):
        os.dup2(fd, number, inheritable=True)
    os.closerange(above, os.sysconf("SC_OPEN_MAX"))


def _take_environment(wanted: dict[str, str]) -> None:
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)


def _reset_process(stand_in: str) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    multiprocessing.set_executable(stand_in)
    sys.executable = stand_in  # Ray builds the command lines of its processes from it


def _run(runnable: Runnable) -> int:
    sys.argv = runnable.argv
    if "resource_tracker" in (runnable.code or ""):
        tree.name_this_process(tree.TRACKER)
    try:
        if runnable.code is not None:
            main = ModuleType("__main__")
            sys.modules["__main__"] = main
            exec(compile(runnable.code, "<string>", "exec"), main.__dict__)  # noqa: S102  (the caller's -c)
        elif runnable.module is not None:
            runpy.run_module(runnable.module, run_name="__main__", alter_sys=True)
        elif runnable.script is not None:
            sys.path.insert(0, os.path.dirname(runnable.script))
            runpy.run_path(runnable.script, run_name="__main__")
    except SystemExit as leaving:
        return _status_of(leaving.code)
    except BaseException:  # noqa: BLE001  (an interpreter prints whatever was raised)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _status_of(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1
