"""doctor.py's work: every check with its finding, the one screen, and what can be mended without harm."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from _doctor import models, observing, parts, remembering, settings
from _doctor.finding import Check, Finding, carried_out, counted, failure_of
from _doctor.mending import Mended, mend
from _doctor.page import page
from _doctor.scene import Scene

__all__ = [
    "Finding",
    "Mended",
    "Scene",
    "as_facts",
    "examine",
    "failure_of",
    "mend",
    "page",
    "settings_shown",
]

settings_shown = settings.settings_shown


OF_MEMORY = frozenset(
    """permissions files observer messages failures provisional bookkeeping unfinished budget size reflection night
    ledger proposals older_edition""".split()
)


def checks(scene: Scene) -> "list[Check]":
    """The checks that there is something to look at for, in the order in which they are told."""
    asked = [Check("models", models.models, slow=True)]
    every = [
        Check("packages", settings.packages),
        Check("configuration", settings.configuration),
        Check("memory", settings.memory),
        Check("permissions", settings.permissions),
        Check("files", settings.files),
        Check("disk", settings.disk),
        Check("clock", settings.clock),
        Check("sources", observing.sources),
        Check("observer", observing.observer),
        Check("messages", observing.messages),
        Check("failures", observing.failures),
        Check("provisional", observing.provisional),
        Check("bookkeeping", observing.bookkeeping),
        Check("unfinished", observing.unfinished),
        Check("provider", models.provider),
        *(asked if models.is_asked(scene.config) and not scene.offline else []),
        Check("budget", models.budget),
        Check("hook", parts.gateway_hook, slow=True),
        Check("watcher", parts.watcher, slow=True),
        Check("cron", parts.cron, slow=True),
        Check("size", remembering.size),
        Check("reflection", remembering.reflection),
        Check("night", remembering.night),
        Check("ledger", remembering.ledger),
        Check("proposals", remembering.proposals),
        Check("older_edition", remembering.older_edition),
    ]
    told = [one._replace(of_memory=one.name in OF_MEMORY) for one in every]
    return [one for one in told if scene.is_begun or not one.of_memory]


def examine(scene: Scene) -> "list[Finding]":
    """Carry out every check; those that wait for somebody else wait side by side."""
    wanted = checks(scene)
    with ThreadPoolExecutor(max_workers=4) as pool:
        waited = {one.name: pool.submit(carried_out, one, scene) for one in wanted if one.slow}
        found = {one.name: carried_out(one, scene) for one in wanted if not one.slow}
        found.update({name: future.result() for name, future in waited.items()})
    return parts.judged_together(scene, [found[one.name] for one in wanted])


def as_facts(findings: "Sequence[Finding]") -> "dict[str, Any]":
    """The findings for the result object."""
    return {"counts": counted(findings), "checks": [one.as_json() for one in findings]}
