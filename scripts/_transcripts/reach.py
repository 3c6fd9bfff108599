"""What it means that transcripts were out of reach: the error of a run that could not look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Optional

from _config import Config
from _errors import BusyError, ConfigError, SourceError, TotalRecallError
from _transcripts.cursors import Cursors
from _transcripts.session import Listing, Problem

if TYPE_CHECKING:
    from _transcripts.message import Cursor


def waiting(problems: Sequence[Problem]) -> Optional[TotalRecallError]:
    """The error that says which transcript was out of reach; None when all were looked at."""
    found = [problem for problem in problems if problem.waits]
    if not found:
        return None
    message = f"{len(found)} transcripts could not be looked at, first {found[0].where}: {found[0].what}"
    if all(problem.busy for problem in found):
        return BusyError(message, "the next run tries again")
    return SourceError(message, "make it readable for this user; the next run tries again")


def gone_store(config: Config, listing: Listing, cursors: Mapping[str, Cursor]) -> "list[Problem]":
    """The store as a Problem when it was read before, as the cursors tell, and is not there now."""
    if str(config.store_path) in listing.sources or "sqlite" not in Cursors.of(cursors).sources:
        return []
    return [Problem(str(config.store_path), "the store that was read before is gone", waits=True)]


def no_transcripts(config: Config) -> ConfigError:
    """The error where there is neither a sessions folder nor a store."""
    return ConfigError(
        f"no transcripts: neither {config.sessions_dir} nor {config.store_path} exists",
        "set SESSIONS_DIR or OPENCLAW_AGENT_ID, or talk to the agent once" + _other_agents(config),
    )


def _other_agents(config: Config) -> str:
    """Names of agents beside the one that was looked for: a wrong name must not look like silence."""
    try:
        found = sorted(folder.name for folder in (config.state_dir / "agents").iterdir() if folder.is_dir())
    except OSError:
        return ""
    others = [name for name in found if name != config.agent_id]
    return f"; agents found: {', '.join(others)}" if others else ""
