"""The user's crontab: our lines between two marks, every other byte as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Optional

from _cli import Run
from _config import Config
from _errors import ConfigError
from _files import decode, encode
from _setup import host
from _setup.commands import SKILL, fingerprint
from _setup.parts import Outcome, state_of

BEGIN, END = "# total-recall begin", "# total-recall end"


def mark(config: Config) -> str:
    """What tells this memory's lines from another's."""
    return f"{config.agent_id} {fingerprint(config)}"


def read() -> str:
    """The crontab; "" for a user who has none. Raises ConfigError when that cannot be told."""
    if host.find("crontab") is None:
        raise ConfigError(
            "there is no program `crontab` in PATH",
            "let OpenClaw do it: setup.py --cron openclaw; or see what another scheduler needs: setup.py --cron print",
        )
    ended = host.run_program("crontab", "-l")
    if ended.code == 0:
        return decode(ended.out)
    if re.search(r"no crontab for|no such file", ended.text, re.IGNORECASE):
        return ""
    raise ConfigError(
        f"`crontab -l` failed: {ended.first_words}", "are you allowed to use cron? see cron.allow"
    )


def write(content: str) -> None:
    """Put another crontab in its place; cron itself refuses one that it does not understand."""
    host.succeed("crontab", "-", stdin=encode(content))


def split(content: str, config: Config) -> "tuple[str, Optional[list[str]], str]":
    """What stands before our lines, these (None when there are none), and what stands behind them."""
    begin, end = re.escape(f"{BEGIN} {mark(config)}"), re.escape(f"{END} {mark(config)}")
    found = re.search(
        rf"^{begin}\n(?P<lines>(?:(?!{begin}$|{end}$).*\n)*?){end}(?:\n|\Z)", content, re.MULTILINE
    )
    marks = len(re.findall(rf"^(?:{begin}|{end})$", content, re.MULTILINE))
    if marks != (2 if found else 0):
        raise ConfigError(
            f"the crontab has `{BEGIN} {mark(config)}` or its end more than once or alone",
            "take these lines out: crontab -e; then run setup.py again",
        )
    if not found:
        return content, None, ""
    return content[: found.start()], found["lines"].splitlines(), content[found.end() :]


def block_lines(config: Config) -> "Optional[list[str]]":
    """Our lines in the crontab; None when there are none."""
    return split(read(), config)[1]


def install(run: Run, lines: Sequence[str]) -> Outcome:
    """Put our lines in their place, at the end when they have none."""
    content = read()
    before, old, after = split(content, run.config)
    if before and not before.endswith("\n"):
        before += "\n"
    block = "".join(
        f"{line}\n" for line in (f"{BEGIN} {mark(run.config)}", *lines, f"{END} {mark(run.config)}")
    )
    changed = old != list(lines)
    if changed and not run.dry_run:
        write(before + block + after)
    for line in lines if changed else ():
        run.say(f"setup: cron: {'would add' if run.dry_run else 'added'} {line}")
    if not changed:
        run.say("setup: cron: the crontab is in order")
    if strangers(before + after):
        run.say("setup: cron: another line in the crontab runs the observer too: take it out (crontab -e)")
    return Outcome(state_of(run, changed), {"where": "system", "lines": list(lines)})


def strangers(content: str) -> "list[str]":
    """Lines outside of any marks that run our observer."""
    marked = re.compile(rf"^{BEGIN} .*\n(?:.*\n)*?{END} .*$", re.MULTILINE)
    script = str(SKILL / "scripts" / "observer.py").replace("%", "\\%")
    rest = marked.sub("", content).splitlines()
    return [line for line in rest if script in line and not line.lstrip().startswith("#")]


def uninstall(run: Run) -> Outcome:
    """Take our lines out."""
    if host.find("crontab") is None:
        return Outcome("unchanged")
    before, old, after = split(read(), run.config)
    if old is not None and not run.dry_run:
        write(before + after)
    return Outcome(state_of(run, old is not None), {"lines": old or []})
