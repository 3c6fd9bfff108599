"""Checks of what the person has set: the packages, the variables, the clock's zone, and whether anything is set up."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from datetime import timedelta
from pathlib import Path
from typing import Optional

from _compat import epoch_ms
from _config import DEFAULTS, SECRET_VARIABLES, Config, presentable
from _counting import many
from _doctor.finding import FAIL, OK, UNKNOWN, WARN, Finding
from _doctor.ours import described, named
from _doctor.scene import Scene
from _errors import MissingPackage, StorageError
from _files import free_bytes, is_there
from _ledger import highest_given
from _setup import place_in_words

FULL_BYTES, NEARLY_FULL_BYTES = 10_000_000, 100_000_000
CLOCK_MARGIN = timedelta(minutes=5)


def packages(scene: Scene) -> Finding:
    """Whether this Python, in which the layers will run, has what they need."""
    found = scene.packages
    if found is None:
        return Finding(
            "packages", UNKNOWN, "could not look: requirements.txt is missing", "reinstall the skill"
        )
    version = ".".join(map(str, sys.version_info[:3]))
    lacking = [one.name for one in found.lacking]
    facts = {"python": version, "place": found.place, "lacking": lacking}
    if found.place == "missing":
        says = f"Python {version} ({sys.executable}) lacks {', '.join(lacking)}"
        return Finding("packages", FAIL, says, scene.command("setup.py"), facts)
    says = f"Python {version}; the packages are in {place_in_words(found.place)}"
    return Finding("packages", OK, says, facts=facts)


def configuration(scene: Scene) -> Finding:
    """Whether every setting can be taken."""
    config = scene.config
    given = [name for name, origin in config.origins.items() if origin != "default"]
    facts = {
        "settings": len(given),
        "wrong": [str(problem) for problem in scene.problems if not isinstance(problem, MissingPackage)],
    }
    if scene.problems:
        says = "; ".join(f"{problem}: {problem.hint}" for problem in scene.problems)
        todo = "correct each where it comes from; until then the layers stop with this error"
        return Finding("configuration", FAIL, says, todo, facts)
    of_shell = [
        name
        for name in given
        if config.origins[name] == "environment"
        and name not in ("OPENCLAW_WORKSPACE", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME", "TZ")
    ]
    number = "1 variable is" if len(given) == 1 else f"{len(given)} variables are"
    says = f"{number} set" if given else "nothing is set, so the defaults hold"
    if of_shell:
        says += f"; cron and services do not see those of this shell: {', '.join(of_shell)}"
        return Finding("configuration", WARN, says, f"write them into {config.workspace / '.env'}", facts)
    return Finding("configuration", OK, says, facts=facts)


def settings_shown(config: Config) -> "dict[str, dict[str, str]]":
    """Every variable that is set, with its value and where that comes from; a key is set or unset."""
    return {
        name: {"value": presentable(config, name), "source": config.origins[name]}
        for name in DEFAULTS
        if config.origins[name] != "default"
    }


def memory(scene: Scene) -> Finding:
    """Whether there is a memory that can be read and written."""
    config = scene.config
    folder, private, log = config.memory_dir, config.private_dir, config.observations_path
    try:
        there = {path: is_there(path) for path in (folder, private, log)}
    except StorageError as problem:
        return Finding("memory", FAIL, f"{problem}; {described(folder)}", problem.hint)
    if there[folder] and not folder.is_dir():
        return Finding("memory", FAIL, f"{folder} is in the way: it is not a folder", "move it away")
    if not scene.is_begun:
        says = f"nothing is set up yet: there is no memory in {folder}"
        return Finding("memory", FAIL, says, scene.command("setup.py"))
    lacking = [path for path in (private, log) if not there[path]]
    if lacking == [log] and not highest_given(scene.places.ledger):
        return Finding("memory", OK, f"in {folder}; nothing has been noted yet")
    if lacking:
        todo = scene.command("setup.py")
        if there[private] and is_there(scene.places.ledger):
            todo = f"put observations.md back from {scene.places.backups}, or begin anew: {todo}"
        return Finding("memory", FAIL, f"missing: {named(lacking)}", todo)
    shut = [path for path in (folder, private) if not os.access(path, os.R_OK | os.W_OK | os.X_OK)]
    shut += [log] if not os.access(log, os.R_OK | os.W_OK) else []
    if shut:
        says = "; ".join(f"cannot be read and written: {described(path)}" for path in shut)
        todo = f"{shlex.join(['ls', '-ld', str(shut[0])])}  # who owns it, and its mode"
        return Finding("memory", FAIL, says, todo)
    return Finding("memory", OK, f"in {folder}")


def permissions(scene: Scene) -> Finding:
    """Whether memory is for its owner alone."""
    ours = scene.ours
    facts = {"readable_by_others": len(ours.loose), "of_other_users": len(ours.foreign)}
    if ours.unseen:
        says = f"could not look at {named(ours.unseen)}; {described(ours.unseen[0])}"
        return Finding("permissions", UNKNOWN, says, "make it readable for this user", facts)
    if ours.foreign:
        says = f"another user owns {named(ours.foreign)}"
        places = (str(scene.config.memory_dir), str(scene.config.logs_dir))
        todo = shlex.join(["sudo", "chown", "-R", str(os.geteuid()), *places])
        return Finding("permissions", WARN, says, todo, facts)
    told: "list[str]" = []
    todos: "list[str]" = []
    if ours.loose:
        number = many(len(ours.loose), "file or folder", "files and folders")
        told.append(f"others may read {number} of ours: {named(ours.loose)}")
        todos.append(scene.command("doctor.py", "--fix"))
    open_keys = [path for path in keys_in(scene.config) if is_open(path)]
    if open_keys:
        told.append(f"others may read a key in {named(open_keys)}")
        todos.append(shlex.join(["chmod", "600", *map(str, open_keys)]))
    if is_open(scene.config.memory_dir):
        told.append(
            f"others may look into {scene.config.memory_dir}, where the agent's own notes lie as well"
        )
        todos.append(shlex.join(["chmod", "700", str(scene.config.memory_dir)]))
    facts["keys_readable_by_others"] = len(open_keys)
    if told:
        return Finding("permissions", WARN, "; ".join(told), "; ".join(todos), facts)
    return Finding("permissions", OK, "folders 0700, files 0600", facts=facts)


def keys_in(config: Config) -> "list[Path]":
    """The files that a key comes from."""
    origins = dict.fromkeys(config.origins[name] for name in SECRET_VARIABLES)
    return [Path(origin) for origin in origins if os.path.isabs(origin)]


def is_open(path: Path) -> bool:
    """Whether others than its owner may do something with it; what is not there is not."""
    found = mode_of(path)
    return found is not None and bool(found & 0o077)


def mode_of(path: Path) -> Optional[int]:
    """The mode of what stands at a path; None where nothing can be seen. Raises OSError but for what is not there."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


def files(scene: Scene) -> Finding:
    """What should not lie among our files."""
    ours = scene.ours
    facts = {"leftovers": len(ours.leftovers), "strays": len(ours.strays), "links": len(ours.links)}
    told, todo = [], []
    if ours.unseen:
        told.append(f"could not look at {named(ours.unseen)}")
    if ours.links:
        told.append(f"symbolic links are not followed: {named(ours.links)}")
        todo.append("put files and folders in their place")
    if ours.strays:
        told.append(f"OpenClaw takes these for notes, because they end in .md: {named(ours.strays)}")
        todo.append("rename them to .md.bak, or move them away")
    if ours.leftovers:
        told.append(f"left behind by runs that were killed: {named(ours.leftovers)}")
        todo.append(scene.command("doctor.py", "--fix"))
    if scene.lacking_folders:
        told.append(f"missing: {named(scene.lacking_folders)}")
        todo.append(scene.command("doctor.py", "--fix"))
    if told:
        state = UNKNOWN if ours.unseen else WARN
        return Finding("files", state, "; ".join(told), "; ".join(dict.fromkeys(todo)), facts)
    return Finding("files", OK, "nothing left over, nothing out of place", facts=facts)


def disk(scene: Scene) -> Finding:
    """Whether there is room."""
    place = next(
        path for path in (scene.config.memory_dir, *scene.config.memory_dir.parents) if os.path.isdir(path)
    )
    free = free_bytes(place)
    amount = f"{free // 1_000_000} MB" if free < 10_000_000_000 else f"{free // 1_000_000_000} GB"
    says, facts = f"{amount} free", {"free_bytes": free}
    if free >= NEARLY_FULL_BYTES:
        return Finding("disk", OK, says, facts=facts)
    state = FAIL if free < FULL_BYTES else WARN
    return Finding("disk", state, f"only {says} on the disk with {place}", "free some space", facts)


def clock(scene: Scene) -> Finding:
    """In which zone memory is dated, and whether the clock has been ahead."""
    config, run = scene.config, scene.run
    facts = {"zone": str(config.zone), "now": f"{run.now.astimezone(config.zone):%Y-%m-%d %H:%M}"}
    ahead = scene.last_run is not None and scene.last_run > run.now + CLOCK_MARGIN
    if ahead or scene.state.since_ms > epoch_ms(run.now + CLOCK_MARGIN):
        says = f"it was ahead of now ({facts['now']}, {facts['zone']}) when the observer ran"
        return Finding("clock", WARN, says, "check the system's time; set TZ if the zone is wrong", facts)
    return Finding("clock", OK, f"{facts['now']} in {facts['zone']}", facts=facts)
