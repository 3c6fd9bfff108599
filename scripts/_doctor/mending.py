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
from _setup import crontab, hook, schedule, service


class Remedy(NamedTuple):
    """One thing that helps: what is to be done, how that is told when it is done, to what, and what does it."""

    to_do: str
    did: str
    what: str
    do: "Callable[[], object]"
    by_settings: bool = True


class Mended(NamedTuple):
    """What was done, or would be; and what could not be. Sentences such as "made private /x"."""

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
        Remedy("make private", "made private", str(path), partial(make_private, path), False)
        for path in scene.ours.loose
        if own == 0 or path not in foreign
    ]
    left = scene.ours.leftovers
    return found + [
        Remedy("remove", "removed", str(path), partial(remove_file, path), False) for path in left
    ]


def _of_folders(scene: Scene) -> "list[Remedy]":
    return [
        Remedy("make the folder", "made the folder", str(folder), partial(private_folder, folder))
        for folder in scene.lacking_folders
    ]


def _of_parts(run: Run, findings: "Sequence[Finding]") -> "list[Remedy]":
    """Another version of what this setup installed. What is damaged, switched off or stopped may be so on purpose."""
    facts = {one.name: one.facts for one in findings}
    found = []
    quiet = run._replace(quiet=True)  # setup's own talk is no answer to --fix
    if facts.get("hook", {}).get("installed") == "outdated":
        found.append(_anew("install", "installed", "the gateway hook", lambda: hook.install(quiet)))
    if facts.get("watcher", {}).get("service") == "outdated":
        found.append(_anew("install", "installed", "the watcher's service", lambda: service.install(quiet)))
    if facts.get("cron", {}).get("scheduled") == "outdated":
        found.append(
            _anew("schedule", "scheduled", "the jobs", lambda: schedule.install(quiet, _scheduler(quiet)))
        )
    return found


def _anew(to_do: str, did: str, what: str, do: "Callable[[], object]") -> Remedy:
    return Remedy(f"{to_do} anew", f"{did} anew", what, do)


def _scheduler(run: Run) -> str:
    """Which one has the jobs of the other version."""
    try:
        return "openclaw" if crontab.block_lines(run.config) is None else "system"
    except TotalRecallError:
        return "openclaw"


def mend(scene: Scene, findings: "Sequence[Finding]") -> Mended:
    """Do what helps, as far as it can be done; with --dry-run only say it.

    What goes by the settings waits until all of them can be taken: with one left out it would be done elsewhere.
    """
    told, dry_run = Mended([], []), scene.run.dry_run
    for remedy in remedies(scene, findings):
        if scene.problems and remedy.by_settings:
            told.failed.append(f"{remedy.to_do} {remedy.what}: not before every setting can be taken")
            continue
        try:
            if not dry_run:
                remedy.do()
            told.done.append(f"{remedy.to_do if dry_run else remedy.did} {remedy.what}")
        except TotalRecallError as problem:
            told.failed.append(f"{remedy.to_do} {remedy.what}: {problem}")
    return told
