"""One frozen Config, and the only reader of the environment and of `.env` files.

A value comes from, first match wins: a flag, the environment, `.env` in the workspace, `.env` in the OpenClaw
state folder, the default. `.env` is read as data: nothing in it is expanded or run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timezone, tzinfo
from pathlib import Path
from typing import Callable, Optional

from _compat import home_of_user, utc_now
from _errors import ConfigError, MissingPackage

OPENROUTER_URL = "https://openrouter.ai/api/v1"
OBSERVER_MODEL = "stepfun/step-3.5-flash:free"
OBSERVER_FALLBACK_MODEL = "nvidia/nemotron-3-nano-30b-a3b:free"
REFLECTOR_MODEL = "nvidia/nemotron-3-super-120b-a12b:free"
REFLECTOR_FALLBACK_MODEL = "openrouter/hunter-alpha"
LLM_MODEL = "deepseek/deepseek-v3.2"
PROVIDERS = ("auto", "openai", "openclaw", "none")
# How far back the runs look that cannot wait, where a session has no cursor.
FLUSH_LOOKBACK_MIN, RECOVER_LOOKBACK_MIN = 120, 240

# Every variable, with its default as text ("" = none) and what is allowed. The numbers are the shell edition's.
DEFAULTS: Mapping[str, str] = {
    "OPENROUTER_API_KEY": "",
    "LLM_API_KEY": "",
    "LLM_BASE_URL": OPENROUTER_URL,
    "LLM_MODEL": LLM_MODEL,
    "OBSERVER_MODEL": OBSERVER_MODEL,
    "OBSERVER_FALLBACK_MODEL": OBSERVER_FALLBACK_MODEL,
    "REFLECTOR_MODEL": REFLECTOR_MODEL,
    "REFLECTOR_FALLBACK_MODEL": REFLECTOR_FALLBACK_MODEL,
    "LLM_PROVIDER": "auto",
    "OPENCLAW_WORKSPACE": "",
    "MEMORY_DIR": "",
    "SESSIONS_DIR": "",
    "OPENCLAW_AGENT_ID": "main",
    "OPENCLAW_STATE_DIR": "",
    "OPENCLAW_HOME": "",
    "OBSERVER_LOOKBACK_MIN": "15",
    "OBSERVER_MORNING_LOOKBACK_MIN": "480",
    "OBSERVER_LINE_THRESHOLD": "40",
    "OBSERVER_COOLDOWN_SECS": "300",
    "REFLECTOR_WORD_THRESHOLD": "8000",
    "DREAM_TOKEN_TARGET": "8000",
    "READ_ONLY_MODE": "false",
    "DREAM_PHASE": "1",
    "LLM_DAILY_CALL_LIMIT": "200",
    "LLM_DAILY_TOKEN_LIMIT": "2000000",
    "TZ": "",
}
SECRET_VARIABLES = ("OPENROUTER_API_KEY", "LLM_API_KEY")
PLACES = ("OPENCLAW_HOME", "OPENCLAW_STATE_DIR")


@dataclass(frozen=True)
class Config:
    """Everything a run may know about its surroundings. Paths are absolute; keys never show in repr()."""

    workspace: Path
    memory_dir: Path
    sessions_dir: Path
    agent_id: str
    state_dir: Path
    zone: tzinfo
    provider: str
    base_url: str
    api_key: str = field(repr=False)
    observer_models: "tuple[str, ...]"
    reflector_models: "tuple[str, ...]"
    lookback_minutes: int
    morning_lookback_minutes: int
    line_threshold: int
    cooldown_seconds: int
    reflect_over_words: int
    dream_token_target: int
    read_only: bool
    dream_phase: int
    daily_call_limit: int
    daily_token_limit: int
    origins: Mapping[str, str]

    @property
    def store_path(self) -> Path:
        """OpenClaw's SQLite store (2026.8.1 and newer), beside the folder of the JSONL transcripts."""
        return self.sessions_dir.parent / "agent" / "openclaw-agent.sqlite"

    @property
    def observations_path(self) -> Path:
        return self.memory_dir / "observations.md"

    @property
    def private_dir(self) -> Path:
        """Our own bookkeeping. Nothing in it ends in .md, because OpenClaw indexes every .md below memory/."""
        return self.memory_dir / ".total-recall"

    @property
    def logs_dir(self) -> Path:
        return self.workspace / "logs"


def load_config(
    flags: Optional[Mapping[str, str]] = None,
    environ: Optional[Mapping[str, str]] = None,
    script: Optional[Path] = None,
) -> Config:
    """Read every source and return a checked Config. `flags` are variables by name, given on the command line.

    Raises ConfigError naming the variable, the value found and what is allowed, and MissingPackage when there is a
    `.env` to read but python-dotenv is not installed.
    """
    environ = os.environ if environ is None else environ
    script = script or Path(__file__)
    layers = [
        ("flag", dict(flags or {})),
        ("environment", {k: v for k, v in environ.items() if k in DEFAULTS}),
    ]
    home = _path("HOME", (environ.get("HOME") or home_of_user(), "environment"))

    def look_up(name: str) -> "tuple[str, str]":
        for origin, values in layers:
            if values.get(name, "").strip():
                return values[name].strip(), origin
        return DEFAULTS[name], "default"

    def folder(name: str, otherwise: Path) -> Path:
        found = look_up(name)
        return _path(name, found, home) if found[0] else otherwise

    openclaw_home = folder("OPENCLAW_HOME", home)
    state_dir = folder("OPENCLAW_STATE_DIR", openclaw_home / ".openclaw")
    # A file cannot say where it is to be looked for itself.
    layers.append((str(state_dir / ".env"), _read_env_file(state_dir / ".env", PLACES)))
    shared = (state_dir, state_dir.parent, home, openclaw_home)
    workspace = folder("OPENCLAW_WORKSPACE", _own_workspace(script, state_dir, shared))
    in_workspace = _read_env_file(workspace / ".env", (*PLACES, "OPENCLAW_WORKSPACE"))
    layers.insert(2, (str(workspace / ".env"), in_workspace))
    return _build(look_up, home, state_dir, workspace, environ)


def environment_dir() -> Path:
    """Where setup.py keeps the packages: a virtual environment outside the skill, whose folder updates replace."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(
        os.environ.get("HOME") or home_of_user(), ".local", "share"
    )
    return Path(data) / "total-recall" / "venv"


def environment_copy(changes: Optional[Mapping[str, str]] = None) -> "dict[str, str]":
    """The environment for a child process, with `changes` over it."""
    return {**os.environ, **(changes or {})}


def is_restarted() -> bool:
    """True in a process that restarted itself in the environment that setup.py made: it does so only once."""
    return bool(os.environ.get("TOTAL_RECALL_RESTARTED"))


def _build(
    look_up: "Callable[[str], tuple[str, str]]",
    home: Path,
    state_dir: Path,
    workspace: Path,
    environ: Mapping[str, str],
) -> Config:
    """Check and convert every value; pure but for the time zone's files."""

    def text(name: str) -> str:
        return look_up(name)[0]

    def whole(name: str, lowest: int, highest: int) -> int:
        value, origin = look_up(name)
        if not re.fullmatch(r"\d{1,12}", value) or not lowest <= int(value) <= highest:
            raise _wrong(name, (value, origin), f"it takes a whole number from {lowest} to {highest}")
        return int(value)

    def folder(name: str, otherwise: Path) -> Path:
        return _path(name, look_up(name), home) if text(name) else otherwise

    def is_set(name: str) -> bool:
        return look_up(name)[1] != "default"

    key = text("LLM_API_KEY") or text("OPENROUTER_API_KEY")
    base_url = _base_url(text("LLM_BASE_URL"), look_up("LLM_BASE_URL")[1])
    provider = _one_of("LLM_PROVIDER", look_up("LLM_PROVIDER"), PROVIDERS)
    if provider == "auto":
        provider = "openai" if key or is_set("LLM_BASE_URL") else "none"
    if provider == "openai" and not key and base_url == OPENROUTER_URL:
        # Nothing is sent to an address that nobody has asked for.
        raise ConfigError(
            f"there is no key for {OPENROUTER_URL}, and LLM_PROVIDER or LLM_BASE_URL asks for it",
            "set OPENROUTER_API_KEY, or LLM_BASE_URL for a server that needs none, or LLM_PROVIDER=none",
        )
    agent = text("OPENCLAW_AGENT_ID")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", agent):
        allowed = "it takes letters, digits, dots, dashes and underscores, at most 64"
        raise _wrong("OPENCLAW_AGENT_ID", look_up("OPENCLAW_AGENT_ID"), allowed)
    known_provider = base_url == OPENROUTER_URL
    return Config(
        workspace=workspace,
        memory_dir=folder("MEMORY_DIR", workspace / "memory"),
        sessions_dir=folder("SESSIONS_DIR", state_dir / "agents" / agent / "sessions"),
        agent_id=agent,
        state_dir=state_dir,
        zone=_zone(look_up("TZ"), workspace),
        provider=provider,
        base_url=base_url,
        api_key=key,
        observer_models=_chain("OBSERVER", look_up, known_provider),
        reflector_models=_chain("REFLECTOR", look_up, known_provider),
        lookback_minutes=whole("OBSERVER_LOOKBACK_MIN", 0, 5_256_000),
        morning_lookback_minutes=whole("OBSERVER_MORNING_LOOKBACK_MIN", 0, 5_256_000),
        line_threshold=whole("OBSERVER_LINE_THRESHOLD", 1, 1_000_000),
        cooldown_seconds=whole("OBSERVER_COOLDOWN_SECS", 0, 86_400),
        reflect_over_words=whole("REFLECTOR_WORD_THRESHOLD", 100, 10_000_000),
        dream_token_target=whole("DREAM_TOKEN_TARGET", 100, 10_000_000),
        read_only=_truth("READ_ONLY_MODE", look_up("READ_ONLY_MODE")),
        dream_phase=whole("DREAM_PHASE", 1, 2),
        daily_call_limit=whole("LLM_DAILY_CALL_LIMIT", 0, 1_000_000),
        daily_token_limit=whole("LLM_DAILY_TOKEN_LIMIT", 0, 100_000_000_000),
        origins={name: look_up(name)[1] for name in DEFAULTS},
    )


def _chain(role: str, look_up: "Callable[[str], tuple[str, str]]", known_provider: bool) -> "tuple[str, ...]":
    """The models to ask in turn: role, its fallback, LLM_MODEL; each once.

    A role model that nobody set stands aside for an LLM_MODEL that somebody did set (users of Ollama and Groq set
    only that), and the default ids, which are OpenRouter's, are no use at another address.
    """
    own_model = look_up("LLM_MODEL")[1] != "default"
    chain = []
    for name in (f"{role}_MODEL", f"{role}_FALLBACK_MODEL", "LLM_MODEL"):
        value, origin = look_up(name)
        if origin != "default" or (known_provider and not own_model):
            chain.append(value)
    return tuple(dict.fromkeys(chain or [look_up("LLM_MODEL")[0]]))


def _wrong(name: str, found: "tuple[str, str]", allowed: str) -> ConfigError:
    """The error for a variable's value; one that looks like a key, put there by mistake, is not shown."""
    value, origin = found
    shown = f"{value!r}"
    if len(value) > 200 or re.search(r"\b(sk|pk|gsk|xai|ghp)[-_]\w|AIza|[A-Za-z0-9_-]{32}", value):
        shown = f"{len(value)} characters that are not shown"
    return ConfigError(f"{name} is {shown} (from {origin})", allowed)


def _read_env_file(path: Path, without: "tuple[str, ...]" = ()) -> "dict[str, str]":
    """The variables of one `.env` file that are ours, but for those in `without`; {} when there is no such file.

    Quotes, `export`, CRLF and a byte order mark are understood; `$` stays a dollar sign.
    """
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise ConfigError(
            f"{path} cannot be read: {problem.strerror}", "make it readable, or move it away"
        ) from problem
    try:
        content = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as problem:
        raise ConfigError(f"{path} is not UTF-8 text (byte {problem.start})", "save it as UTF-8") from problem
    try:
        import dotenv.parser
    except ImportError as problem:
        raise MissingPackage("python-dotenv") from problem
    import io

    values: "dict[str, str]" = {}
    for binding in dotenv.parser.parse_stream(io.StringIO(content)):
        if binding.error:
            # Nothing of the line but a name that we know: the rest can be a key.
            name = re.match(r"\s*(?:export\s+)?(\w*)", binding.original.string)
            known = f" (it is about {name.group(1)})" if name and name.group(1) in DEFAULTS else ""
            raise ConfigError(
                f"{path}, line {binding.original.line}: cannot be read as NAME=value{known}",
                "write one NAME=value a line; close every quote",
            )
        if (
            binding.key
            and binding.key in DEFAULTS
            and binding.key not in without
            and binding.value is not None
        ):
            values[binding.key] = binding.value
    return values


def _path(name: str, found: "tuple[str, str]", home: Optional[Path] = None) -> Path:
    """An absolute path; `~` is the home folder. A relative one would mean another place under cron."""
    value = found[0]
    if "\0" in value or "\n" in value:
        raise _wrong(name, found, "it takes the path of a folder")
    if home is not None and (value == "~" or value.startswith("~/")):
        value = str(home) + value[1:]
    path = Path(value)
    if not path.is_absolute():
        raise _wrong(name, found, "it takes an absolute path, or one that begins with ~/")
    return Path(os.path.normpath(path))


def _own_workspace(script: Path, state_dir: Path, shared: "tuple[Path, ...]") -> Path:
    """The workspace whose skills/ folder this script lies in, else OpenClaw's default workspace.

    `shared` are folders whose skills/ or .agents/skills/ serve all agents and lie in no workspace.
    """
    skill = Path(os.path.abspath(script)).parent.parent
    if skill.parent.name == "skills":
        root = skill.parent.parent
        root = root.parent if root.name == ".agents" else root
        if os.path.realpath(root) not in map(os.path.realpath, shared):
            return root
    return state_dir / "workspace"


def _base_url(value: str, origin: str) -> str:
    if not re.fullmatch(r"https?://(\[[\w:.%]+\]|[^\s/@:?#\[\]]+)(:\d{1,5})?(/\S*)?", value):
        shown = re.sub(r"//[^/@\s]*@", "//…@", value)
        allowed = "it takes an address such as https://openrouter.ai/api/v1, without a name or password in it"
        raise _wrong("LLM_BASE_URL", (shown, origin), allowed)
    return value.rstrip("/").removesuffix("/chat/completions")


def _one_of(name: str, found: "tuple[str, str]", allowed: "tuple[str, ...]") -> str:
    value = found[0].lower()
    if value not in allowed:
        raise _wrong(name, found, f"it takes one of: {', '.join(allowed)}")
    return value


def _truth(name: str, found: "tuple[str, str]") -> bool:
    value = found[0].lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    raise _wrong(name, found, "it takes true or false")


def _zone(tz: "tuple[str, str]", workspace: Path) -> tzinfo:
    """The person's time zone: TZ, else a "Timezone: Area/City" line in the workspace's USER.md, else the system's.

    Gateways often run in containers set to UTC, so that the file knows better than the system.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    wanted = [("TZ", tz[0].lstrip(":"))] if tz[0] else []
    if not wanted:
        try:
            about = (workspace / "USER.md").read_text(encoding="utf-8-sig", errors="replace")[:20_000]
        except OSError:
            about = ""
        named = re.search(
            r"(?im)^[\s\-*]*time[ -]?zone[\s*]*:[\s*`]*([A-Za-z_]+(?:/[A-Za-z0-9_+\-]+)*)", about
        )
        wanted = [("USER.md", named.group(1))] if named else []
    for source, name in wanted:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            if source == "TZ":
                return _zone_of_odd_name(name, tz)
    return _system_zone()


def _zone_of_odd_name(name: str, found: "tuple[str, str]") -> tzinfo:
    """The zone of a TZ that names no entry of the time zone database.

    Raises ConfigError for a mistyped name: taken as UTC, as the C library does, it would date memory wrongly.
    """
    from zoneinfo import ZoneInfo

    if name.startswith("/"):
        try:
            with open(name, "rb") as rules:
                return ZoneInfo.from_file(rules, key=name.partition("zoneinfo/")[2] or "localtime")
        except (OSError, ValueError):
            pass
    elif re.fullmatch(r"(?:[A-Za-z]{3,}|<[^>]+>)[+-]?\d.*", name):
        return _present_offset()  # "CET-1CEST" and its kin: only the C library reads them
    allowed = (
        "it takes a name such as Europe/Berlin; if it is right, the time zone data is missing: install tzdata"
    )
    raise _wrong("TZ", found, allowed)


def _present_offset() -> tzinfo:
    return utc_now().astimezone().tzinfo or timezone.utc


def _system_zone() -> tzinfo:
    """The system's zone with its daylight-saving rules, under its name where /etc/localtime is a link to it; else its
    present offset."""
    from zoneinfo import ZoneInfo

    try:
        name = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
        with open("/etc/localtime", "rb") as rules:
            return ZoneInfo.from_file(rules, key=name or "localtime")
    except (OSError, ValueError):
        return _present_offset()
