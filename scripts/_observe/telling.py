"""How a run went: the counts of its result, and the sentence for a person."""

from __future__ import annotations

from typing import Any

from _answer import EXTRACTOR
from _counting import and_many, many
from _settle import Work

PROBLEMS_SHOWN = 10


def result_facts(work: Work) -> "dict[str, Any]":
    """The counts, with the usual ones always there."""
    usual = (
        "messages_new",
        "messages_covered",
        "messages_pending",
        "observations_written",
        "duplicates",
        "refused",
    )
    counts = {name: number for name, number in work.counts.items() if number}
    provisional = standing(work)
    if provisional:
        counts["provisional"] = provisional
        counts["observations_written"] = counts.get("observations_written", 0) + provisional
    return {
        "trigger": work.job.trigger,
        "provider": work.config.provider,
        "models": sorted(work.models | ({EXTRACTOR} if provisional else set())),
        **dict.fromkeys(usual, 0),
        **counts,
        "sources": work.sources,
        "failures_in_row": work.state.failures_in_row,
        "problems": [f"{problem.where}: {problem.what}" for problem in work.problems[:PROBLEMS_SHOWN]],
    }


def standing(work: Work) -> int:
    """How many of the provisional lines that this run wrote still stand for an answer."""
    return len(work.captured.intersection(work.state.provisional))


def summary(work: Work, covered: int) -> str:
    """The sentence for a person."""
    if not covered:
        if standing(work):
            return f"{many(standing(work), 'provisional observation')} written to {work.places.observations}"
        if work.counts.get("replayed"):
            return f"what a run that was cut short had begun is in {work.places.observations} now"
        return "nothing new was said" + left_alone(work)
    how = ""
    if work.config.provider == "none":
        chosen = work.config.origins["LLM_PROVIDER"] != "default"
        why = "" if chosen else "; no key and no LLM_BASE_URL is set"
        how = f" (chosen by the built-in extractor{why})"
    written = work.counts.get("observations_written", 0) + standing(work)
    messages, observations = many(covered, "message"), many(written, "observation")
    return f"{messages} covered, {observations} written to {work.places.observations}{how}"


def left_alone(work: Work) -> str:
    """What there is besides, but lies before the time from which this run observes."""
    older = work.counts.get("sessions_older", 0), work.counts.get("read_before", 0)
    if not any(older):
        return ""
    lie = "lies" if sum(older) == 1 else "lie"
    them = "it" if sum(older) == 1 else "them"
    told = and_many((older[0], "session"), (older[1], "message"))
    return f"; {told} {lie} before the first run's window: --backfill takes {them} in"
