"""Where values come from, first match wins: a flag, the environment, `.env` in the workspace, `.env` in the OpenClaw
state folder, the default. The only reader of the environment and of `.env` files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from _compat import home_of_user
from _config.settings import DEFAULTS, Found
from _config.values import as_path

PLACES = ("OPENCLAW_HOME", "OPENCLAW_STATE_DIR")
ENV_FILES = ".env"


class Sources:
    """What was said where. `layers` are (origin, values by name), the nearest first; variables and paths of files in
    `without` count as not set and not there (ENV_FILES: all of these files)."""

    def __init__(
        self, flags: Mapping[str, str], environ: Optional[Mapping[str, str]], without: "frozenset[str]"
    ) -> None:
        self.environ = os.environ if environ is None else environ
        self.without = without
        self.layers: "list[tuple[str, Mapping[str, str]]]" = [("flag", flags), ("environment", self.environ)]

    def find(self, name: str) -> Found:
        """The first value that is not blank, else the default."""
        for origin, values in self.layers if name not in self.without else ():
            value = values.get(name, "").strip()
            if value:
                return value, origin
        return DEFAULTS[name], "default"

    def folder(self, name: str, home: Path, otherwise: Path) -> Path:
        """The folder that a variable names. Raises ConfigError for what is no absolute path."""
        found = self.find(name)
        return as_path(name, found, home) if found[0] else otherwise

    def home(self) -> Path:
        """The user's home folder. Raises ConfigError when nothing says where it is."""
        named = "" if "HOME" in self.without else self.environ.get("HOME")
        return as_path("HOME", (named or _home_on_record(), "environment"))

    def add_env_file(self, path: Path, but_for: "tuple[str, ...]") -> None:
        """Read a `.env` file in, as nearer than those before. The variables in `but_for` are not taken from it."""
        if self.without & {str(path), ENV_FILES}:
            return
        content = _content_of(path)
        if content is None:
            return
        from _config.env_file import variables_in

        ours = variables_in(path, content)
        behind_environment = 2
        self.layers.insert(
            behind_environment, (str(path), {k: v for k, v in ours.items() if k not in but_for})
        )


def find_places(sources: Sources, script: Path) -> "tuple[Path, Path, Path]":
    """The home, state and workspace folders; reads the `.env` files that lie there into `sources` on the way."""
    home = sources.home()
    openclaw_home = sources.folder("OPENCLAW_HOME", home, home)
    state_dir = sources.folder("OPENCLAW_STATE_DIR", home, openclaw_home / ".openclaw")
    # A file cannot say where it is to be looked for itself.
    sources.add_env_file(state_dir / ".env", PLACES)
    shared = (state_dir, state_dir.parent, home, openclaw_home)
    workspace = sources.folder("OPENCLAW_WORKSPACE", home, _own_workspace(script, state_dir, shared))
    sources.add_env_file(workspace / ".env", (*PLACES, "OPENCLAW_WORKSPACE"))
    return home, state_dir, workspace


def environment_dir() -> Path:
    """Where setup.py keeps the packages: a virtual environment outside the skill, whose folder updates replace.

    Raises ConfigError when nothing says where the user's home is.
    """
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(
        os.environ.get("HOME") or _home_on_record(), ".local", "share"
    )
    return Path(data) / "total-recall" / "venv"


def environment_copy(changes: Optional[Mapping[str, str]] = None) -> "dict[str, str]":
    """The environment for a child process, with `changes` over it."""
    return {**os.environ, **(changes or {})}


def is_restarted() -> bool:
    """True in a process that restarted itself in the environment that setup.py made: it does so only once."""
    return bool(os.environ.get("TOTAL_RECALL_RESTARTED"))


def _home_on_record() -> str:
    """The home folder by the system's records. Containers run under user ids that are in none."""
    found = home_of_user()
    if found:
        return found
    from _config.wrong import WrongSetting

    raise WrongSetting(
        f"HOME is not set, and the system knows no home folder of the user with the id {os.getuid()}",
        "set HOME to the absolute path of the folder that .openclaw lies in",
        ("HOME",),
    )


def _content_of(path: Path) -> Optional[bytes]:
    """The bytes of a `.env` file; None when there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        from _config.wrong import WrongSetting

        raise WrongSetting(
            f"{path} cannot be read: {problem.strerror}", "make it readable, or move it away", (str(path),)
        ) from problem


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
