"""Makes system calls fail in every Python process that has this folder in its PYTHONPATH, for as long as the JSON file
that $FAULTS names is there: {"script", "calls", "below", "errno", "kill_at"}.

Those of `calls` that would change something below the folder fail with `errno`. Only processes of `script`, "" for all.
With `kill_at` the process is killed at that call, whatever it is about. $FAULTS.calls gets a byte for each call.
"""

import json
import os
import signal
import sys

SWITCH = os.environ.get("FAULTS", "")
CALLS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "ftruncate", "listdir")
write, make = os.write, os.open
count = [0]


def told():
    try:
        with open(SWITCH, encoding="utf-8") as file:
            task = json.load(file)
    except FileNotFoundError:
        return None
    return task if task["script"] in ("", os.path.basename(sys.argv[0])) else None


def note():
    descriptor = make(SWITCH + ".calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    write(descriptor, b".")
    os.close(descriptor)


def hits(task, name, args):
    if name not in task["calls"] or isinstance(args[0], int):
        return False
    if name == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return False
    return os.path.abspath(args[0]).startswith(task["below"])


class Call:
    """A system call that may fail. No function: Python 3.9's pathlib keeps some of them in a class, as builtins."""

    def __init__(self, name):
        self.name, self.real = name, getattr(os, name)

    def __call__(self, *args, **named):
        task = told()
        if task:
            count[0] += 1
            note()
            if count[0] == task["kill_at"]:
                os.kill(os.getpid(), signal.SIGKILL)
            if hits(task, self.name, args):
                raise OSError(task["errno"], os.strerror(task["errno"]), args[0])
        return self.real(*args, **named)


if SWITCH:
    for name in CALLS:
        setattr(os, name, Call(name))
