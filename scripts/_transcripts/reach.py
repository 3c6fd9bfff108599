"""What it means that transcripts were out of reach: the error of a run that could not look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Optional

from _config import Config
from _errors import ConfigError, SourceError, TotalRecallError
from _transcripts.cursors import Cursors
from _transcripts.session import Listing, Problem
from _transcripts.sqlite import StoreBusy

if TYPE_CHECKING:
    from _transcripts.message import Cursor


def waiting(problems: Sequence[Problem]) -> Optional[TotalRecallError]:
    """The error that says what was out of reach, and what to do; None when everything was looked at. A BusyError when
    all of it was only busy."""
    found = [problem for problem in problems if problem.waits]
    if not found:
        return None
    first = next((problem for problem in found if not problem.busy), found[0])
    message = first.what if first.where in first.what else f"{first.where}: {first.what}"
    if len(found) > 1:
        message += f"; and {len(found) - 1} more could not be looked at"
    if first.busy:
        return StoreBusy(message, "the next run tries again")
    return SourceError(message, f"{first.hint or 'make it readable for this user'}; the next run tries again")


def gone_store(config: Config, listing: Listing, cursors: Mapping[str, Cursor]) -> "list[Problem]":
    """The store as a Problem when it was read before, as the cursors tell, and is not there now."""
    if str(config.store_path) in listing.sources or "sqlite" not in Cursors.of(cursors).sources:
        return []
    hint = "put it back, or set SESSIONS_DIR to where OpenClaw keeps its sessions now"
    return [Problem(str(config.store_path), "the store that was read before is gone", waits=True, hint=hint)]


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
