"""Every error that is meant for a user, each with the exit code of the command that meets it.

A message says what failed, what was found, what is allowed and how to mend it. Anything else that
reaches the command line is a defect of rayspan.
"""

from typing import ClassVar


class RayspanError(Exception):
    """Base of all errors shown to a user without a traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, fix: str = "") -> None:
        self.message, self.fix = message, fix
        super().__init__(f"{message}\n  fix: {fix}" if fix else message)


class InputError(RayspanError):
    """What the user wrote is wrong: a spec, an argument, a model folder."""

    exit_code = 2


class WorldError(RayspanError):
    """The machine or a service cannot do it: a taken port, too little memory, a dead engine."""

    exit_code = 3
