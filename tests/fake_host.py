"""The programs that setup.py runs on a machine, as far as it uses them, under whose name this file is put into PATH:
openclaw, systemctl, loginctl, crontab and launchctl.

They keep what they are told in the folder `host` beside the one they lie in, and write down how they were called. What
they answer was seen in OpenClaw 2026.3.13, 2026.7.1 and 2026.9.6, systemd 252, and cron of Debian 12.
"""

import json
import os
import sys
from pathlib import Path

NAME, WORDS = os.path.basename(sys.argv[0]), sys.argv[1:]
PLACE = Path(sys.argv[0]).resolve().parent.parent / "host"
HOME = Path(os.environ.get("HOME", "/nowhere"))
BUNDLED = ("boot-md", "bootstrap-extra-files", "command-logger", "compaction-notifier", "session-memory")
FLAGS_OF_2026_3 = """--agent --announce --cron --description --every --exact --json --light-context --message --model
    --name --no-deliver --session --timeout-seconds --tz""".split()
FLAGS_SINCE = "--command --command-argv --command-env --declaration-key --tools".split()


class State(dict):
    """What is kept from one call to the next."""

    def save(self):
        (PLACE / "state.json").write_text(json.dumps(self))


def load():
    path = PLACE / "state.json"
    usual = {
        "version": "2026.9.6",
        "gateway": True,
        "internal": None,
        "jobs": [],
        "user_manager": True,
        "linger": False,
        "enabled": [],
        "active": [],
        "broken": [],
    }
    return State({**usual, **(json.loads(path.read_text()) if path.exists() else {})})


def end(code, out="", err=""):
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.exit(code)


def value_of(flag):
    return WORDS[WORDS.index(flag) + 1] if flag in WORDS else None


# openclaw ------------------------------------------------------------------------------------------------------------


def is_new(state):
    return state["version"] >= "2026.8"


def openclaw(state):
    if WORDS == ["--version"]:
        end(0, f"OpenClaw {state['version']} (eb377ac)\n")
    if " ".join(WORDS[:2]) in state["broken"]:
        fail(state, "Config was last written by a newer version")
    {"config": config, "hooks": hooks, "cron": cron}[WORDS[0]](state)


def fail(state, message):
    """2026.9 says it twice: as an object on stdout and in words on stderr."""
    told = json.dumps({"ok": False, "error": {"type": "cli_error", "message": message}}, indent=2)
    end(1, told + "\n" if is_new(state) else "", message + "\n")


def config(state):
    if WORDS[1:] == ["get", "hooks.internal", "--json"]:
        if state["internal"] is not None:
            end(0, json.dumps(state["internal"], indent=2) + "\n")
        if is_new(state):
            fail(state, "Config path is valid but unset: hooks.internal. The runtime default applies.")
        fail(
            state,
            "Config path not found: hooks.internal. Run openclaw config validate to inspect config shape.",
        )
    assert WORDS[1:3] == ["set", "hooks.internal.entries"] and WORDS[4:] == ["--strict-json"], WORDS
    state["internal"] = {**(state["internal"] or {}), "entries": json.loads(WORDS[3])}
    state.save()
    end(0, "Updated hooks.internal.entries. Change will apply without restarting the gateway.\n")


def hooks(state):
    managed = Path(os.environ.get("OPENCLAW_STATE_DIR", HOME / ".openclaw")) / "hooks"
    there = [path.parent.name for path in managed.glob("*/HOOK.md")]
    if WORDS[1:] == ["list", "--json"]:
        listed = [{"name": name, "loadable": True, "managedByPlugin": False} for name in (*BUNDLED, *there)]
        end(0, json.dumps({"managedHooksDir": str(managed), "hooks": listed}))
    verb, name = WORDS[1:]
    if name not in (*BUNDLED, *there):
        end(1, err=f'Error: Hook "{name}" not found. Run `openclaw hooks list` to see available hooks.\n')
    internal = state["internal"] = dict(state["internal"] or {})
    internal["entries"] = {**internal.get("entries", {}), name: {"enabled": verb == "enable"}}
    if verb == "enable":
        internal["enabled"] = True
    state.save()
    end(0, f"\u2713 Enabled hook: {name}\n")


def loaded(state):
    """The hooks that the gateway would load: read off the sources of 2026.7.1 and 2026.9.6, and seen in their logs."""
    internal = state["internal"] or {}
    entries = internal.get("entries", {})
    named = {name for name, entry in entries.items() if entry.get("enabled") is not False}
    everything = {*BUNDLED, "total-recall"} - {name for name in entries if name not in named}
    if internal.get("enabled") is False:
        return set()
    if internal.get("enabled") is True and (not entries or not is_new(state)):
        return everything
    return named & everything


def cron(state):
    flags = [*FLAGS_OF_2026_3, *(FLAGS_SINCE if state["version"] >= "2026.6" else [])]
    if WORDS[1:] == ["add", "--help"]:
        end(
            0,
            "Usage: openclaw cron add|create [options]\n\n"
            + "".join(f"  {flag} <x>  words\n" for flag in flags),
        )
    unknown = [word for word in WORDS if word.startswith("--") and word not in (*flags, "--all")]
    if unknown:
        end(1, err=f"error: unknown option '{unknown[0]}'\n")
    if not state["gateway"]:
        if is_new(state):
            fail(state, "Gateway not reachable at ws://127.0.0.1:18951 (ECONNREFUSED).\nStart it with ...")
        end(
            1,
            err="GatewayTransportError: gateway closed (1006 abnormal closure (no close frame)): no close reason\n",
        )
    if WORDS[1] == "list":
        end(0, json.dumps({"jobs": state["jobs"], "total": len(state["jobs"])}, indent=2) + "\n")
    if WORDS[1] == "rm":
        kept = [job for job in state["jobs"] if job["id"] != WORDS[2]]
        if len(kept) == len(state["jobs"]):
            fail(state, f"Automation not found: {WORDS[2]}.")
        state["jobs"] = kept
        state.save()
        end(0, json.dumps({"ok": True, "removed": True}))
    add(state)


def add(state):
    job = {"name": value_of("--name"), "agentId": value_of("--agent"), "enabled": True}
    every = value_of("--every")
    job["schedule"] = {"kind": "cron", "expr": value_of("--cron")}
    if "--exact" in WORDS:
        job["schedule"]["staggerMs"] = 0
    if every:
        minutes = int(every[:-1]) * (60 if every.endswith("h") else 1)
        job["schedule"] = {"kind": "every", "everyMs": minutes * 60_000}
    job["payload"] = {"kind": "agentTurn", "message": value_of("--message")}
    if "--command-argv" in WORDS:
        given = [WORDS[at + 1].split("=", 1) for at, word in enumerate(WORDS) if word == "--command-env"]
        job["payload"] = {
            "kind": "command",
            "argv": json.loads(value_of("--command-argv")),
            "env": dict(given),
        }
    job["payload"]["timeoutSeconds"] = int(value_of("--timeout-seconds"))
    key = value_of("--declaration-key")
    if key:
        job["declarationKey"] = key
    same = [one for one in state["jobs"] if key and one.get("declarationKey") == key]
    old = {name: value for name, value in same[0].items() if name != "id"} if same else None
    if same:
        if is_new(state) and job["schedule"].get("staggerMs", 1) and not every:
            job["said_anew"] = True  # what the real one changes then is not shown
        same[0].update(job)
        job = same[0]
    else:
        job["id"] = f"job-{len((PLACE / 'calls').read_text().splitlines())}"
        state["jobs"].append(job)
    state.save()
    told = {
        "created": old is None,
        "updated": old is not None and {**old, "id": job["id"]} != job,
        "job": job,
    }
    end(0, json.dumps(told if key else job, indent=2) + "\n")


# The machine ---------------------------------------------------------------------------------------------------------


def systemctl(state):
    assert WORDS[0] == "--user", WORDS
    if not state["user_manager"]:
        end(1, err="Failed to connect to bus: No medium found\n")
    verb, name = WORDS[1], WORDS[-1]
    if verb in ("is-active", "is-enabled"):
        end(0 if name in state["active" if verb == "is-active" else "enabled"] else 3)
    if verb in ("enable", "disable", "restart"):
        if not (HOME / ".config" / "systemd" / "user" / name).exists():
            end(1, err=f"Failed to {verb} unit: Unit file {name} does not exist.\n")
        for group in () if verb == "restart" else ("enabled", "active"):
            state[group] = [*({*state[group]} - {name}), *([name] if verb == "enable" else [])]
        state.save()
    elif verb not in ("daemon-reload", "show-environment"):
        end(1, err=f"Unknown command verb {verb}.\n")
    end(0)


def loginctl(state):
    assert WORDS[0] == "show-user" and WORDS[2:] == ["-p", "Linger"], WORDS
    end(0, f"Linger={'yes' if state['linger'] else 'no'}\n")


def crontab(_state):
    table = PLACE / "crontab"
    if WORDS == ["-l"]:
        if not table.exists():
            end(1, err="no crontab for nora\n")
        sys.stdout.flush()
        os.write(1, table.read_bytes())
        end(0)
    assert WORDS == ["-"], WORDS
    content = sys.stdin.buffer.read()
    if content and not content.endswith(b"\n"):
        end(1, err="new crontab file is missing newline before EOF, can't install.\n")
    table.write_bytes(content)
    end(0)


def launchctl(state):
    verb = WORDS[0]
    if verb == "bootstrap":
        name = Path(WORDS[2]).stem
        if state.pop("leaving", False):
            state.save()
            end(5, err="Bootstrap failed: 5: Input/output error\n")
        state["active"].append(name)
    elif WORDS[1].split("/")[-1] not in state["active"]:
        end(113, err="Could not find service\n")
    elif verb == "bootout":
        state["active"].remove(WORDS[1].split("/")[-1])
        state["leaving"] = True
    state.save()
    end(0)


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    with open(PLACE / "calls", "a") as calls:
        calls.write(json.dumps([NAME, *WORDS]) + "\n")
    globals()[NAME](load())
