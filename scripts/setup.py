"""Set up Total Recall, or try it out. Works with Python 3.9 or newer alone.

  setup.py           set up for good: the packages, the memory folder and a first observations.md
  setup.py --try     see what it would remember: observes your OpenClaw sessions (without any, a sample conversation)
                     into a throw-away folder; needs no key and, unless you pass --provider, sends nothing anywhere
  setup.py --check   say what is in order and what is missing; change nothing

Let it run by itself (together or one by one; each can be repeated, and changes nothing that is in order):

  setup.py --cron openclaw   observe every 15 minutes, reflect hourly, tidy up at night (03:30), by the cron of
                             OpenClaw's gateway, which has to be running; --cron system: by this user's crontab;
                             --cron print: only say the lines
  setup.py --watcher         observe as soon as 40 lines were added: a service of this user (systemd, on macOS launchd)
  setup.py --hook            put the hook into OpenClaw and enable it: memory in each new session's prompt, and the last
                             words before /new, /reset and a compaction observed
  setup.py --uninstall       take all this away again for this workspace; memory, logs and .env stay

Packages that this Python does not have go into a virtual environment of their own, outside of the skill's folder:
$XDG_DATA_HOME/total-recall/venv, else ~/.local/share/total-recall/venv. Running it again changes nothing that is
in order and repairs what is not.
"""

# No annotations and no f-strings in this file: an old Python has to get as far as the sentence that it is too old.
# ruff: noqa: UP031, UP036
import json
import sys


def too_old():
    # type: () -> int
    """Say in the usual form which Python is needed, and which one this is; returns the exit code."""
    found = "Python %d.%d" % sys.version_info[:2]
    message = "%s is too old: Total Recall needs Python 3.9 or newer" % found
    hint = "install a newer one, then for example: python3.11 scripts/setup.py"
    error = {"code": "configuration", "message": message, "hint": hint}
    told = {"layer": "setup", "status": "error", "reason": "configuration", "error": error, "schema": 1}
    sys.stderr.write("setup: %s (%s)\n" % (message, hint))
    sys.stdout.write(json.dumps(told) + "\n")
    return 3


def main(argv=None):
    # type: (list[str] | None) -> int
    """Refuse an old Python, else set up; returns the exit code."""
    if sys.version_info < (3, 9):
        return too_old()
    try:
        from _setup import run
    except KeyboardInterrupt:
        error = {"code": "interrupted", "message": "interrupted", "hint": "run it again"}
        told = {"layer": "setup", "status": "error", "reason": "interrupted", "error": error, "schema": 1}
        sys.stdout.write(json.dumps(told) + "\n")
        return 130
    return run(sys.argv[1:] if argv is None else argv, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
