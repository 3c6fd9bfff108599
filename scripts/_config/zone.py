"""The person's time zone: TZ, else what USER.md says, else the system's."""

from __future__ import annotations

import os
from datetime import timezone, tzinfo
from pathlib import Path
from typing import Optional

from _compat import utc_now
from _config.settings import Found


def zone_of(tz: Found, workspace: Path) -> tzinfo:
    """The zone that TZ names, else a "Timezone: Area/City" line in the workspace's USER.md, else the system's.

    Gateways often run in containers set to UTC, so that the file knows better than the system. Raises ConfigError for a
    TZ that nobody knows; such a name in the file is passed over.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    name = tz[0].lstrip(":") if tz[0] else _zone_in_person_file(workspace)
    if name is None:
        return _system_zone()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _zone_of_odd_name(name, tz) if tz[0] else _system_zone()


def _zone_in_person_file(workspace: Path) -> Optional[str]:
    """The name in USER.md; None when there is none."""
    try:
        about = (workspace / "USER.md").read_text(encoding="utf-8-sig", errors="replace")[:20_000]
    except OSError:
        return None
    import re

    named = re.search(r"(?im)^[\s\-*]*time[ -]?zone[\s*]*:[\s*`]*([A-Za-z_]+(?:/[A-Za-z0-9_+\-]+)*)", about)
    return named.group(1) if named else None


def _zone_of_odd_name(name: str, found: Found) -> tzinfo:
    """The zone of a TZ that names no entry of the time zone database.

    Raises ConfigError for a mistyped name: taken as UTC, as the C library does, it would date memory wrongly.
    """
    import re
    from zoneinfo import ZoneInfo

    if name.startswith("/"):
        try:
            with open(name, "rb") as rules:
                return ZoneInfo.from_file(rules, key=name.partition("zoneinfo/")[2] or "localtime")
        except (OSError, ValueError):
            pass
    elif re.fullmatch(r"(?:[A-Za-z]{3,}|<[^>]+>)[+-]?\d.*", name):
        return _present_offset()  # "CET-1CEST" and its kin: only the C library reads them
    from _config.values import refused

    allowed = (
        "it takes a name such as Europe/Berlin; if it is right, the time zone data is missing: install tzdata"
    )
    raise refused("TZ", found, allowed)


def _present_offset() -> tzinfo:
    return utc_now().astimezone().tzinfo or timezone.utc


def _system_zone() -> tzinfo:
    """The system's zone with its daylight-saving rules, under its name where /etc/localtime is a link to it; else its
    present offset."""
    from zoneinfo import ZoneInfo

    try:
        name = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
        with open("/etc/localtime", "rb") as rules:
            return ZoneInfo.from_file(rules, key=name or "localtime")
    except (OSError, ValueError):
        return _present_offset()
