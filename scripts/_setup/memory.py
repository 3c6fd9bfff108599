"""Setting up for good: the folders and the first log; and what only the person can do after that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from _cli import Run
from _config import Config
from _files import private_folder, read_bytes, replace_file
from _observations import HEAD
from _setup import hook, schedule, service


def folders(config: Config) -> "list[Path]":
    """The folders that the layers write to."""
    archive = config.memory_dir / "archive"
    archives = [archive / name for name in ("observations", "chunks", "reflections")]
    return [config.memory_dir, config.private_dir, *archives, config.logs_dir]


def make_memory(run: Run) -> "list[str]":
    """Make what is not there yet and return its paths; nothing that is there is touched."""
    lacking = [folder for folder in folders(run.config) if not folder.is_dir()]
    made = [str(folder) for folder in lacking]
    first_log = read_bytes(run.config.observations_path) is None
    if first_log:
        made.append(str(run.config.observations_path))
    if not run.dry_run:
        for folder in lacking:
            private_folder(folder)
        if first_log:
            begin_log(run.config)
        begin_observing(run)
    return made


def begin_log(config: Config) -> None:
    """Write the first observations.md, unless an observer has begun one meanwhile."""
    from _state import Places

    with Places(config.observations_path, config.private_dir).memory():
        if read_bytes(config.observations_path) is None:
            replace_file(config.observations_path, HEAD.encode("utf-8"))


def begin_observing(run: Run) -> None:
    """Write down that from now on everything is observed, however late the first observer comes, unless one did."""
    from _memory import iso
    from _pending import lookback_ms
    from _state import Places, State, begin, load_state

    config = run.config
    places = Places(config.observations_path, config.private_dir)
    with places.memory():
        if not load_state(places).since_ms:
            since = lookback_ms(
                run.now, config.zone, config.lookback_minutes, config.morning_lookback_minutes
            )
            begin(places, State(since_ms=since), iso(run.now))


def left_to_do(config: Config, done: "Sequence[str]" = ()) -> "list[str]":
    """What only the person can do, a sentence each. `done`: the parts that this run has installed."""
    steps = []
    if not config.sessions_dir.is_dir() and not config.store_path.exists():
        steps.append(
            f"no sessions of OpenClaw in {config.sessions_dir} yet: talk to the agent once, or set SESSIONS_DIR "
            f"or OPENCLAW_AGENT_ID in {config.workspace / '.env'}"
        )
    if "cron" not in done:
        steps.append(
            "have the observer run every 15 minutes: setup.py --cron openclaw (while the gateway runs) or --cron system"
        )
    if "hook" not in done and not hook.is_installed(config):
        steps.append("have memory at hand in each new session, and nothing lost at /new: setup.py --hook")
    if "watcher" not in done and not service.is_installed(config):
        steps.append("have it observe busy conversations at once: setup.py --watcher")
    kept_out = [
        name
        for name, origin in sorted(config.origins.items())
        if origin == "environment"
        and name not in ("OPENCLAW_WORKSPACE", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME")
    ]
    if kept_out:
        steps.append(
            f"cron does not see this shell's variables: write {', '.join(kept_out)} into {config.workspace / '.env'}"
        )
    if config.provider == "none":
        steps.append(
            "nothing has to be done about a model: without a key the built-in extractor picks the observations; "
            f"for a model put OPENROUTER_API_KEY, or LLM_BASE_URL and LLM_MODEL, into {config.workspace / '.env'}"
        )
    return steps


def cron_line(config: Config) -> str:
    """The observer's line for crontab, for those who schedule it some other way."""
    return schedule.system_lines(config)[0]
