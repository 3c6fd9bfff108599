"""The gateway hook: copied to where OpenClaw looks for hooks, told which memories there are, and enabled.

Naming a hook changes which others OpenClaw loads (`keep_others` says how), so that those are kept as they were.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from _cli import Run
from _config import Config
from _errors import ConfigError
from _files import lock, private_folder, read_bytes, remove_file, replace_file
from _setup import host
from _setup.commands import SKILL
from _setup.flush import say_flush
from _setup.parts import Outcome, state_of

NAME = "total-recall"
SOURCE = SKILL / "hooks" / NAME
FILES = ("HOOK.md", "handler.js", "package.json")
CONFIG = "config.json"
DAMAGED = "config.damaged"
LOCK = "config.lock"
LOCK_WAIT_SECONDS = 30.0
ENABLE = ("hooks", "enable", NAME)
# Before this version `hooks.internal.enabled: true`, which `hooks enable` writes, loads every hook not switched off.
NAMES_COUNT_SINCE = (2026, 8)


def folder_of(config: Config) -> Path:
    """Where OpenClaw finds the hook."""
    return config.state_dir / "hooks" / NAME


# What the hook is told -----------------------------------------------------------------------------------------------


def entry_of(config: Config) -> "dict[str, str]":
    """This memory, as the hook reads it."""
    return {
        "workspace": os.path.realpath(config.workspace),
        "agent_id": config.agent_id,
        "memory_dir": str(config.memory_dir),
    }


@dataclass(frozen=True)
class Told:
    """The memories that the hook's file names. `damaged`: its bytes, where it may have named others that are lost."""

    entries: "list[dict[str, Any]]"
    damaged: Optional[bytes] = None


def told_in(folder: Path) -> Told:
    """What the hook is told; nothing where its file is missing."""
    content = read_bytes(folder / CONFIG)
    if content is None:
        return Told([])
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return Told([], content)
    listed = found.get("memories") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        return Told([], content)
    whole = [one for one in listed if is_entry(one)]
    return Told(whole, content if len(whole) < len(listed) else None)


def is_entry(one: object) -> bool:
    """True for what `entry_of` makes."""
    names = ("workspace", "agent_id", "memory_dir")
    return isinstance(one, dict) and all(isinstance(one.get(name), str) and one[name] for name in names)


def keep_damaged(run: Run, folder: Path, told: Told) -> None:
    """Put what is damaged aside, where nothing overwrites it, and say who has to be told to the hook again."""
    if told.damaged is None:
        return
    if not run.dry_run:
        earlier = read_bytes(folder / DAMAGED)
        replace_file(folder / DAMAGED, b"\n".join([earlier, told.damaged] if earlier else [told.damaged]))
    own = (entry_of(run.config)["workspace"], run.config.agent_id)
    others = [f"{one[0]} (agent {one[1]})" for one in named_in(told.damaged) if one != own]
    run.say(
        f"setup: hook: {folder / CONFIG} is damaged; {'it would be' if run.dry_run else 'it is'} kept as {DAMAGED}. "
        f"Every other workspace needs once more: setup.py --hook{'; it named ' if others else ''}{', '.join(others)}"
    )


def named_in(damaged: bytes) -> "list[tuple[str, str]]":
    """The workspaces and agents that can still be read in a damaged file."""
    pattern = r'"workspace":\s*("(?:[^"\\]|\\.)*"),\s*"agent_id":\s*("(?:[^"\\]|\\.)*")'
    found = []
    for workspace, agent in re.findall(pattern, damaged.decode("utf-8", "replace")):
        with contextlib.suppress(ValueError):
            found.append((str(json.loads(workspace)), str(json.loads(agent))))
    return found


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True for two entries of one agent in one workspace."""
    return (one.get("workspace"), one.get("agent_id")) == (other.get("workspace"), other.get("agent_id"))


def merged(
    entries: "Sequence[Mapping[str, Any]]", own: Mapping[str, Any]
) -> "tuple[list[Mapping[str, Any]], list[str]]":
    """The entries with our own among them, each in its place, and the workspaces of those that are gone."""
    kept = [one for one in entries if is_same(one, own) or os.path.isdir(str(one.get("workspace", "")))]
    gone = [str(one.get("workspace", "")) for one in entries if one not in kept]
    if any(is_same(one, own) for one in kept):
        return [own if is_same(one, own) else one for one in kept], gone
    return [*kept, own], gone


def rendered(entries: "Sequence[Mapping[str, Any]]") -> bytes:
    """The entries as the hook's file."""
    return json.dumps({"schema": 1, "memories": list(entries)}, indent=2).encode() + b"\n"


# Installing ----------------------------------------------------------------------------------------------------------


def source_files() -> "dict[str, bytes]":
    """The hook as it comes with the skill."""
    files = {}
    for name in FILES:
        content = read_bytes(SOURCE / name)
        if content is None:
            raise ConfigError(f"{SOURCE / name} is missing", "reinstall the skill")
        files[name] = content
    return files


def install(run: Run) -> Outcome:
    """Copy what differs, tell the hook of this memory, enable it."""
    folder = folder_of(run.config)
    files = source_files()
    changed = [name for name, content in files.items() if read_bytes(folder / name) != content]
    replaced = "handler.js" in changed and (folder / "handler.js").exists()
    if not run.dry_run:
        private_folder(folder)
        for name in changed:
            replace_file(folder / name, files[name])
    if tell_hook(run, folder):
        changed.append(CONFIG)
    for name in changed:
        run.say(f"setup: hook: {'would write' if run.dry_run else 'wrote'} {folder / name}")
    if replaced:
        run.say(
            "setup: hook: a running gateway keeps the old handler until it is restarted (openclaw gateway restart)"
        )
    version = host.openclaw_version()
    commands = enable(run, version)
    say_flush(run, version)
    if not changed and commands == []:
        run.say(f"setup: hook: in order, in {folder}")
    facts = {
        "folder": str(folder),
        "written": changed,
        "restart_gateway": replaced or bool(commands and not counts_names(version)),
        "enabled": None if commands is None else not run.dry_run or not commands,
    }
    return Outcome(state_of(run, bool(changed or commands)), facts)


def tell_hook(run: Run, folder: Path) -> bool:
    """Put this memory into the hook's file; True when that changes it."""
    with held(run, folder):
        told = told_in(folder)
        entries, gone = merged(told.entries, entry_of(run.config))
        keep_damaged(run, folder, told)
        for workspace in gone:
            run.say(f"setup: hook: {workspace} is gone; the hook forgets it")
        if rendered(entries) == read_bytes(folder / CONFIG):
            return False
        if not run.dry_run:
            replace_file(folder / CONFIG, rendered(entries))
        return True


def held(run: Run, folder: Path) -> "contextlib.AbstractContextManager[None]":
    """The lock on the hook's folder, unless only a look is wanted."""
    return contextlib.nullcontext() if run.dry_run else lock(folder / LOCK, LOCK_WAIT_SECONDS)


# Enabling ------------------------------------------------------------------------------------------------------------


def enable(run: Run, version: "Optional[tuple[int, int]]") -> "Optional[list[tuple[str, ...]]]":
    """Enable the hook and keep the others as they were; the commands that were needed, None without `openclaw`."""
    if host.find("openclaw") is None:
        run.say(f"setup: hook: no `openclaw` in PATH; left to do where it is: openclaw {' '.join(ENABLE)}")
        return None
    internal = internal_hooks()
    if is_enabled(internal):
        return []
    if internal.get("enabled") is False:
        raise ConfigError(
            "the hook is in place, but OpenClaw's hooks are switched off (hooks.internal.enabled is false)",
            f"if they may be on: openclaw {' '.join(ENABLE)}",
        )
    commands = [*keep_others(internal, version, other_hooks(internal)), ENABLE]
    for command in commands:
        run.say(f"setup: hook: {'would run: ' if run.dry_run else ''}{shlex.join(['openclaw', *command])}")
        if not run.dry_run:
            host.succeed("openclaw", *command, hint="try it by hand: openclaw " + " ".join(ENABLE))
    if len(commands) > 1:
        run.say("setup: hook: OpenClaw's other hooks are named as well, so that they stay as they were")
    if not counts_names(version) and not run.dry_run:
        run.say(
            "setup: hook: this OpenClaw loads a new hook when its gateway starts (openclaw gateway restart)"
        )
    return commands


def counts_names(version: "Optional[tuple[int, int]]") -> bool:
    """True where a named hook makes the names a list of all that are loaded."""
    return version is not None and version >= NAMES_COUNT_SINCE


def internal_hooks() -> "dict[str, Any]":
    """OpenClaw's setting `hooks.internal`; {} when it is not set. Raises ConfigError when that cannot be told."""
    ended = host.run_program("openclaw", "config", "get", "hooks.internal", "--json")
    if ended.code == 0:
        return host.json_in(ended)
    if re.search(r"valid but unset|path not found", ended.text, re.IGNORECASE):
        return {}
    raise ConfigError(
        f"`openclaw config get hooks.internal` failed: {ended.first_words}",
        "run: openclaw config validate",
    )


def is_enabled(internal: Mapping[str, Any]) -> bool:
    """True when the hook is named and nothing keeps it from being loaded."""
    entry = entries_named(internal).get(NAME)
    return (
        isinstance(entry, Mapping) and entry.get("enabled") is True and internal.get("enabled") is not False
    )


def entries_named(internal: Mapping[str, Any]) -> Mapping[str, Any]:
    """`hooks.internal.entries`."""
    entries = internal.get("entries")
    return entries if isinstance(entries, Mapping) else {}


def other_hooks(internal: Mapping[str, Any]) -> "list[str]":
    """The hooks that OpenClaw would load if it loads all, but for ours and those that the person has named."""
    listed = host.json_in(host.succeed("openclaw", "hooks", "list", "--json")).get("hooks")
    names = [
        str(one.get("name"))
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, Mapping) and one.get("loadable") and not one.get("managedByPlugin")
    ]
    return [name for name in names if name != NAME and name not in entries_named(internal)]


def keep_others(
    internal: Mapping[str, Any], version: "Optional[tuple[int, int]]", others: Sequence[str]
) -> "list[tuple[str, ...]]":
    """The `openclaw` commands that keep the other hooks as they are when ours is enabled, to be run before.

    `enabled: true` alone loads all hooks, but from 2026.8 on only those that are named as soon as one is; without it
    only those named are loaded, which up to 2026.7 ends when `hooks enable` writes it. (Seen in 2026.7.1, 8.1, 9.1
    and 9.6; `hooks list` shows nothing of it.)
    """
    load = internal.get("load")
    loads_all = any(internal.get(name) for name in ("installs", "handlers")) or (
        isinstance(load, Mapping) and bool(load.get("extraDirs"))
    )
    if loads_all or not others:
        return []
    stay_on = internal.get("enabled") is True
    if entries_named(internal) if stay_on else counts_names(version):
        return []
    if entries_named(internal):
        return [("hooks", "disable", name) for name in others]
    # In one command: named one by one, those not yet named would be lost if it stopped in between.
    entries = {name: {"enabled": stay_on} for name in others}
    return [("config", "set", "hooks.internal.entries", json.dumps(entries), "--strict-json")]


# Looking and removing ------------------------------------------------------------------------------------------------


def look(run: Run) -> "tuple[str, str]":
    """("installed", "outdated", "damaged", "disabled" or "missing", a sentence)."""
    folder = folder_of(run.config)
    told = told_in(folder)
    if told.damaged is not None:
        return (
            "damaged",
            f"{folder / CONFIG} cannot be read (setup.py --hook, in every workspace that has it)",
        )
    own = [one for one in told.entries if is_same(one, entry_of(run.config))]
    there = [read_bytes(folder / name) for name in FILES]
    if not own or None in there:
        return "missing", "missing (setup.py --hook)"
    if own != [entry_of(run.config)] or there != list(source_files().values()):
        return "outdated", f"another version of it is in {folder} (setup.py --hook)"
    if host.find("openclaw") is None:
        return "installed", f"in {folder}; whether it is enabled only `openclaw` knows, which is not in PATH"
    if not is_enabled(internal_hooks()):
        return "disabled", "there, but not enabled (setup.py --hook)"
    return "installed", f"enabled, in {folder}"


def is_installed(config: Config) -> bool:
    """True when the hook knows this memory."""
    return any(is_same(one, entry_of(config)) for one in told_in(folder_of(config)).entries)


def uninstall(run: Run) -> Outcome:
    """Take this memory from the hook; with the last one the hook goes, unless others may be named in a damaged file."""
    folder = folder_of(run.config)
    if not folder.is_dir():
        return Outcome("unchanged")
    with held(run, folder):
        told = told_in(folder)
        left = [one for one in told.entries if not is_same(one, entry_of(run.config))]
        may_serve_others = told.damaged is not None or (folder / DAMAGED).exists()
        if not left and not may_serve_others:
            remove(run, folder)
            return Outcome(state_of(run, True), {"folder": str(folder), "memories_left": 0})
        changed = len(left) < len(told.entries) or told.damaged is not None
        keep_damaged(run, folder, told)
        if changed and not run.dry_run:
            replace_file(folder / CONFIG, rendered(left))
    if not left:
        run.say(
            f"setup: hook: it stays for the workspaces named in {folder / DAMAGED}; when none needs it: "
            f"openclaw hooks disable {NAME} && rm -r {shlex.quote(str(folder))}"
        )
    return Outcome(state_of(run, changed), {"folder": str(folder), "memories_left": len(left)})


def remove(run: Run, folder: Path) -> None:
    """Switch the hook off and remove its files."""
    if run.dry_run:
        return
    disable(run)
    for name in (*FILES, CONFIG, LOCK):
        remove_file(folder / name)
    if not os.listdir(folder):
        os.rmdir(folder)


def disable(run: Run) -> None:
    """Switch the hook off, before its files go: OpenClaw refuses to speak of a hook that it does not find.

    The entry stays in OpenClaw's configuration, switched off: with the last name gone it would load every hook.
    """
    if host.find("openclaw") is None:
        run.say(f"setup: hook: no `openclaw` in PATH; left to do where it is: openclaw hooks disable {NAME}")
    elif is_enabled(internal_hooks()):
        host.succeed("openclaw", "hooks", "disable", NAME)
