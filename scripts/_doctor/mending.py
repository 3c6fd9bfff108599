"""What can be mended without harm, again and again: modes, folders, what killed runs left, and what setup.py had
installed of this skill in another version."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Callable, NamedTuple

from _cli import Run
from _doctor.finding import Finding
from _doctor.scene import Scene
from _errors import TotalRecallError
from _files import make_private, private_folder, remove_file
from _setup import crontab, hook, memory, schedule, service


class Remedy(NamedTuple):
    """One thing that would be done, as a sentence without its verb's tense, and what does it."""

    says: str
    do: "Callable[[], object]"


class Mended(NamedTuple):
    """What was done, or would be; and what could not be."""

    done: "list[str]"
    failed: "list[str]"


def remedies(scene: Scene, findings: "Sequence[Finding]") -> "list[Remedy]":
    """What helps against these findings."""
    complete = scene.packages is not None and scene.packages.place != "missing"
    of_parts = _of_parts(scene.run, findings) if complete else []  # they would be run by this Python
    return [*_of_files(scene), *_of_folders(scene), *of_parts]


def _of_files(scene: Scene) -> "list[Remedy]":
    own = os.geteuid()
    foreign = set(scene.ours.foreign)
    found = [
        Remedy(f"make private: {path}", partial(make_private, path))
        for path in scene.ours.loose
        if own == 0 or path not in foreign
    ]
    return found + [Remedy(f"remove: {path}", partial(remove_file, path)) for path in scene.ours.leftovers]


def _of_folders(scene: Scene) -> "list[Remedy]":
    """The folders that setup makes, where it has been run: to set up is for the person to decide."""
    if not os.path.isdir(scene.config.private_dir):
        return []
    return [
        Remedy(f"make folder: {folder}", partial(private_folder, folder))
        for folder in memory.folders(scene.config)
        if not os.path.lexists(folder)
    ]


def _of_parts(run: Run, findings: "Sequence[Finding]") -> "list[Remedy]":
    """Another version of what this setup installed. What is damaged, switched off or stopped may be so on purpose."""
    facts = {one.name: one.facts for one in findings}
    found = []
    if facts.get("hook", {}).get("installed") == "outdated":
        found.append(Remedy("install anew: the gateway hook", lambda: hook.install(run)))
    if facts.get("watcher", {}).get("service") == "outdated":
        found.append(Remedy("install anew: the watcher's service", lambda: service.install(run)))
    if facts.get("cron", {}).get("scheduled") == "outdated":
        found.append(Remedy("schedule anew: the jobs", lambda: schedule.install(run, _scheduler(run))))
    return found


def _scheduler(run: Run) -> str:
    """Which one has the jobs of the other version."""
    try:
        return "openclaw" if crontab.block_lines(run.config) is None else "system"
    except TotalRecallError:
        return "openclaw"


def mend(scene: Scene, findings: "Sequence[Finding]") -> Mended:
    """Do what helps, as far as it can be done; with --dry-run only say it."""
    told = Mended([], [])
    for remedy in remedies(scene, findings):
        try:
            if not scene.run.dry_run:
                remedy.do()
            told.done.append(remedy.says)
        except TotalRecallError as problem:
            told.failed.append(f"{remedy.says}: {problem}")
    return told
