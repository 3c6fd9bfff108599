"""The command line of every layer: parser, the one result object, exit codes, log line, starting another layer.

stdout carries exactly one JSON object on one line, whatever happens; sentences for people go to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, NoReturn, Optional, TextIO

from _compat import parse_instant, utc_now
from _config import Config, environment_copy, environment_dir, is_restarted, load_config
from _counting import many
from _errors import ConfigError, MissingPackage, PayloadError, TotalRecallError, UsageError
from _files import append_log

if TYPE_CHECKING:
    import subprocess

VERSION = "0.1.0"
SCHEMA = 1
EXIT_CODES = """exit codes: 0 ok, nothing to do or locked; 1 unexpected; 2 usage; 3 configuration; 4 busy;
5 model failed, cursor not moved; 6 refused by a safety check, files unchanged; 130 interrupted"""
NEEDED_WITH_INPUT = ("filelock", "jsonschema")  # by the commands that take piped input
GRACE_SECONDS = 10.0  # between asking a layer to end and killing it
RESTARTED = "TOTAL_RECALL_RESTARTED"
LOGGED_ENTRIES = 20
# In the folder of logs, by layer, where it is not the layer's own name; and all of them, without ".log".
LOG_NAMES = {"watcher": "observer-watcher"}
LOG_FILES = (
    "observer reflector session-recovery observer-watcher dream-cycle staging-review recall setup doctor"
).split()


def log_name(layer: str) -> str:
    """The name of a layer's log, without ".log"."""
    return LOG_NAMES.get(layer, layer.replace("_", "-"))


class Result(NamedTuple):
    """How a run ended. `status` is "ok" or "skipped"; `reason` a short code; `facts` are counts and paths, no text.

    `shown` is what a person asked to see, such as memory itself: printed, but never logged. `page` is the same for
    reading; it takes the place of the JSON on a terminal.
    """

    status: str
    reason: str
    facts: Mapping[str, Any] = {}
    exit_code: int = 0
    error: Optional[TotalRecallError] = None
    shown: Mapping[str, Any] = {}
    page: str = ""


class Run(NamedTuple):
    """One invocation of a layer. `now` is when it began; `clock` goes on, unless --now has stopped it."""

    layer: str
    run_id: str
    now: datetime
    dry_run: bool
    config: Config
    quiet: bool = False
    clock: Callable[[], datetime] = utc_now

    def say(self, sentence: str) -> None:
        """Print a sentence on stderr, unless --quiet was given."""
        if not self.quiet:
            say_aloud(sentence)

    @property
    def on_terminal(self) -> bool:
        """True when a person is looking at stderr."""
        return bool(sys.stderr) and sys.stderr.isatty() and not self.quiet


class _HelpText(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: to ask the terminal for its own, argparse loads a library at every start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=110)


class Parser(argparse.ArgumentParser):
    """argparse whose complaints become UsageError, so that wrong flags end in JSON too."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing usage and exiting."""
        raise UsageError(message, f"see: python3 scripts/{self.prog} --help")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it, but what is too much is told without repeating it: it may be what somebody said."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            flags = [word.partition("=")[0] for word in rest if word.startswith("-")]
            named = " ".join(flags) or many(len(rest), "word")
            hint = "flags go in front of what a command works on; "
            raise UsageError(
                f"unrecognized arguments: {named}", f"{hint}see: python3 scripts/{self.prog} --help"
            )
        return found


def make_parser(layer: str, documentation: str, exit_codes: str = EXIT_CODES) -> Parser:
    """The parser with the flags that all layers share; `documentation` is the layer's docstring, and `exit_codes` what
    its exit codes mean."""
    parser = Parser(
        prog=f"{layer}.py",
        description=documentation,
        epilog=exit_codes,
        formatter_class=_HelpText,
        allow_abbrev=False,
    )
    _add_shared_flags(parser, {})
    parser.add_argument("--version", action="version", version=f"total-recall {VERSION}")
    return parser


def _add_shared_flags(parser: Parser, defaults: Mapping[str, Any]) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="look and report; write nothing and ask no model",
        **defaults,
    )
    parser.add_argument(
        "--workspace", metavar="DIR", help="the OpenClaw workspace (OPENCLAW_WORKSPACE)", **defaults
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="JSON on a terminal too; anywhere else the result is JSON anyway",
        **defaults,
    )
    parser.add_argument("--quiet", action="store_true", help="no sentences on stderr but errors", **defaults)
    parser.add_argument("--now", metavar="TIME", help=argparse.SUPPRESS, **defaults)


class Commands:
    """The subcommands of a layer, in `options.command`. Without one the command line is wrong."""

    def __init__(self, parser: Parser) -> None:
        self._parsers = parser.add_subparsers(
            dest="command", metavar="COMMAND", required=True, parser_class=Parser
        )

    def add(self, name: str, documentation: str) -> Parser:
        """A subcommand that takes the shared flags too, in front of its name or behind it."""
        parser = self._parsers.add_parser(
            name,
            help=documentation.split("\n")[0],
            description=documentation,
            epilog=EXIT_CODES,
            formatter_class=_HelpText,
            allow_abbrev=False,
        )
        _add_shared_flags(parser, {"default": argparse.SUPPRESS})
        return parser


def require(*packages: str) -> None:
    """Raises MissingPackage for the first that is not there, for what must not be begun twice."""
    import importlib.util

    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingPackage(package)


def read_input(max_bytes: int) -> bytes:
    """What was piped into the command. Raises UsageError when nothing was, or more than `max_bytes`, and MissingPackage
    before anything is read: what is read here, the same command started anew in the environment would wait for."""
    require(*NEEDED_WITH_INPUT)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("nothing was piped into the command", "give the JSON as an argument or on stdin")
    data = sys.stdin.buffer.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UsageError(f"more than {max_bytes} bytes were piped into the command", "send it in parts")
    return data


def configured(variables: Mapping[str, str], script: Optional[Path]) -> Config:
    """The Config of a run. Raises ConfigError for the first setting that cannot be taken."""
    return load_config(variables, script=script)


def run(
    layer: str,
    parser: Parser,
    work: Callable[[argparse.Namespace, Run], Result],
    argv: Optional[Sequence[str]] = None,
    flags: Optional[Callable[[argparse.Namespace], Mapping[str, str]]] = None,
    configure: Callable[[Mapping[str, str], Optional[Path]], Config] = configured,
) -> int:
    """Parse, configure, work, tell: print the result object, write the log line, return the exit code.

    `flags` gives the variables that this layer's own options set; `configure` makes the Config of them and the script.
    """
    os.umask(0o077)
    gc.set_threshold(200_000)  # a run is short and makes many small objects that stay, such as cursors
    _keep_standard_descriptors()
    arguments = list(sys.argv[1:] if argv is None else argv)
    run_id = os.urandom(4).hex()
    dry_run = "--dry-run" in arguments
    config: Optional[Config] = None
    try:
        options = parser.parse_args(arguments)
        variables = dict(flags(options)) if flags else {}
        if options.workspace:
            variables["OPENCLAW_WORKSPACE"] = os.path.abspath(os.path.expanduser(options.workspace))
        with _interruptible():
            config = configure(variables, called_script(layer))
            now = _now(options.now, config)
            clock = (lambda: now) if options.now else utc_now
            result = work(options, Run(layer, run_id, now, dry_run, config, options.quiet, clock))
    except MissingPackage as problem:
        _restart(arguments)
        result = _failure(problem)
    except TotalRecallError as problem:
        result = _failure(problem)
    except KeyboardInterrupt:
        result = interrupted({})
    except Exception as problem:  # noqa: BLE001 - the one place that catches everything, so that stdout stays JSON
        result = _failure(TotalRecallError(_where(problem), "this is a fault of the program"))
    _tell(layer, run_id, dry_run, result, config, as_page="--json" not in arguments)
    return result.exit_code


class _Interrupted(TotalRecallError):
    exit_code = 130
    code = "interrupted"


def _failure(problem: TotalRecallError, facts: Optional[Mapping[str, Any]] = None) -> Result:
    return Result("error", problem.code, facts or {}, problem.exit_code, problem)


def failed(problem: TotalRecallError, facts: Mapping[str, Any]) -> Result:
    """A run that stopped at `problem` but has something to tell all the same."""
    return _failure(problem, facts)


def interrupted(facts: Mapping[str, Any]) -> Result:
    """A run that a person stopped, with what it had done by then."""
    return _failure(_Interrupted("interrupted", "the next run goes on where this one stopped"), facts)


def _where(problem: BaseException) -> str:
    """Kind and place of an unforeseen error; not its text, which can hold what people said."""
    trace = problem.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"unexpected {type(problem).__name__}{place}"


class _interruptible:
    """Turns SIGTERM into KeyboardInterrupt, so that `with` blocks end in order; Ctrl-C does so by itself."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGTERM, self._stop)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    @staticmethod
    def _stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt


def _now(text: Optional[str], config: Config) -> datetime:
    if not text:
        return utc_now()
    found = parse_instant(text, config.zone)
    if found is None:
        raise UsageError(f"--now is {text!r}", "it takes a time such as 2026-11-30T14:05:00Z")
    return found


def _tell(
    layer: str, run_id: str, dry_run: bool, result: Result, config: Optional[Config], as_page: bool
) -> None:
    told: "dict[str, Any]" = {
        "layer": layer,
        "status": result.status,
        "reason": result.reason,
        "run_id": run_id,
    }
    told["dry_run"] = dry_run
    told.update(result.facts)
    if result.error:
        told["error"] = {
            "code": result.error.code,
            "message": str(result.error),
            "hint": result.error.hint,
        }
        if isinstance(result.error, PayloadError):
            told["error"]["faults"] = [
                {"path": path, "problem": problem} for path, problem in result.error.faults
            ]
        if not (as_page and result.page and sys.stdout and sys.stdout.isatty()):  # the page says it
            say_aloud(
                f"{layer}: {result.error}" + (f"\n  -> {result.error.hint}" if result.error.hint else "")
            )
    told["schema"] = SCHEMA
    if config and not dry_run:
        _log(layer, config, told)
    if as_page and result.page and sys.stdout and sys.stdout.isatty():
        _write(sys.stdout, result.page)
    else:
        _write(sys.stdout, json.dumps({**told, **result.shown}))


def _log(layer: str, config: Config, told: Mapping[str, Any]) -> None:
    """One line a run: time, status and numbers. Never text of a conversation, which no fact holds."""
    facts = {name: _short(value) for name, value in told.items() if name not in ("layer", "schema", "error")}
    if "error" in told:
        facts["error"], facts["message"] = told["error"]["code"], told["error"]["message"]
    line = f"{utc_now():%Y-%m-%dT%H:%M:%SZ} " + json.dumps(facts, separators=(",", ":"))
    try:
        append_log(config.logs_dir / f"{log_name(layer)}.log", line)
    except TotalRecallError as problem:
        say_aloud(f"{layer}: no log written: {problem}")


def _short(value: object) -> object:
    """A fact for the log: of a long list only how long it is."""
    return len(value) if isinstance(value, (list, dict)) and len(value) > LOGGED_ENTRIES else value


def say_aloud(sentence: str) -> None:
    """Print a sentence for a person on stderr."""
    _write(sys.stderr, sentence)


def _write(stream: Optional[TextIO], line: str) -> None:
    """Write a line; when nobody takes it (closed, full, the reader gone), the run ends as it would have otherwise."""
    if stream is None:  # the descriptor was closed when Python started
        return
    # A terminal that cannot show a character gets an escape for it, not a traceback.
    encoding = stream.encoding or "ascii"
    try:
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except OSError:
        # Python would complain once more while closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _keep_standard_descriptors() -> None:
    """Open those of 0, 1 and 2 that are closed: else the next file opened becomes the stderr of every child."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def called_script(layer: str) -> Optional[Path]:
    """The path by which this script was called, when it was called as one. Python resolves the links in `__file__`,
    and a skill that is linked into a workspace belongs to that workspace."""
    called = Path(sys.argv[0])
    is_ours = os.path.realpath(called.parent) == os.path.dirname(os.path.realpath(__file__))
    return called if is_ours and called.name == f"{layer}.py" else None


def can_restart() -> bool:
    """Whether there is an environment of setup.py in which this command could be started anew."""
    return not is_restarted() and os.access(environment_dir() / "bin" / "python", os.X_OK)


def _restart(arguments: Sequence[str]) -> None:
    """Run this command once more in the environment that setup.py made; comes back when there is none."""
    python = environment_dir() / "bin" / "python"
    if not can_restart():
        return
    script = os.path.abspath(sys.argv[0])
    # An environment that cannot be started helps no more than none: then the missing package is told.
    with contextlib.suppress(OSError):
        os.execve(str(python), [str(python), script, *arguments], environment_copy({RESTARTED: "1"}))


def start_layer(script: str, arguments: Sequence[str], timeout_seconds: float) -> "dict[str, Any]":
    """Run another layer as a process and return its result object.

    Raises ConfigError when it is not there, cannot be started or prints no result, so that "it ran" is never assumed.
    """
    import subprocess

    with _begin(script, arguments) as child:
        try:
            out, _ = child.communicate(timeout=timeout_seconds)
        except subprocess.TimeoutExpired as problem:
            raise ConfigError(
                f"{script} did not end within {timeout_seconds:g} s", "run it by hand"
            ) from problem
        finally:
            _end_group(child)
    try:
        told = json.loads(out)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise ConfigError(f"{script} printed no result (exit code {child.returncode})", "run it by hand")
    return told


def _begin(script: str, arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a layer in a session of its own, so that whatever it starts goes with it when it has to be ended."""
    import subprocess

    path = Path(__file__).resolve().parent / script
    if not path.exists():
        raise ConfigError(f"{path} is missing", "reinstall the skill")
    try:
        return subprocess.Popen(
            [sys.executable, str(path), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as problem:
        raise ConfigError(
            f"{script} could not be started with {sys.executable}: {problem.strerror}",
            "if this Python is gone (after an update?), run setup.py again with another one",
        ) from problem


def _end_group(child: "subprocess.Popen[bytes]") -> None:
    """End a child that still runs and all that it started: first asked, then killed."""
    import subprocess

    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        if child.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
