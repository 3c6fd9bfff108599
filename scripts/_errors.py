"""Every way to stop, with its exit code, a stable code word for programs and a hint for people.

1 unexpected   2 usage   3 configuration   4 busy   5 model failed, cursor not moved
6 refused by a safety check, files unchanged   130 interrupted
"""

from __future__ import annotations

# What reading JSON of another shape than ours ends in.
DAMAGED = (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError)


class TotalRecallError(Exception):
    """Something stopped the run. `str(error)` says what was found, `hint` says what to try."""

    exit_code = 1
    code = "unexpected"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(TotalRecallError):
    """The command line is wrong."""

    exit_code = 2
    code = "usage"


class PayloadError(UsageError):
    """A JSON payload is wrong. `faults` names every fault at once as (path, what is wrong); it repeats no text."""

    code = "payload"

    def __init__(self, message: str, faults: "tuple[tuple[str, str], ...]", hint: str = "") -> None:
        super().__init__(message, hint)
        self.faults = faults


class ConfigError(TotalRecallError):
    """A variable, file or folder that the person controls is wrong or missing."""

    exit_code = 3
    code = "configuration"


class MissingPackage(ConfigError):
    """A package from requirements.txt is not importable in this Python."""

    code = "missing_package"

    def __init__(self, package: str) -> None:
        super().__init__(f"the Python package {package!r} is not installed", "run: python3 scripts/setup.py")
        self.package = package


class UnknownSession(ConfigError):
    """No transcript has the name that was given."""

    code = "unknown_session"


class SourceError(ConfigError):
    """Transcripts are there but could not be read. Never to be taken for "nothing new"."""

    code = "source_unreadable"


class BusyError(TotalRecallError):
    """Another run held a lock for longer than this one may wait."""

    exit_code = 4
    code = "busy"


class ModelError(TotalRecallError):
    """No usable answer came. The cursor stays, so the next run asks again."""

    exit_code = 5
    code = "model_failed"


class ModelParked(ModelError):
    """No question was asked on purpose: a hold-off or a daily ceiling is in force."""

    code = "model_parked"


class RefusedError(TotalRecallError):
    """A safety check said no; files are unchanged."""

    exit_code = 6
    code = "refused"


class StorageError(TotalRecallError):
    """The disk did not take what was written (full, read-only, too large); the old bytes are still there."""

    code = "storage"
