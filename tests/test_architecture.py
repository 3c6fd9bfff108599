"""The rules of the house, checked on the syntax tree of every module in scripts/ (CONTRIBUTING.md says why).

A rule looks at one module and yields a Finding for every thing it judged, good or bad, so that a rule that has
nothing left to judge is noticed. Each rule is tried on small offending and innocent sources as well.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"

# A room imports from its own level and from those above it in this list, never from further down.
LEVELS = (
    ("_compat", "_errors", "_counting"),
    ("_config", "_files"),
    (
        "_state",
        "_ledger",
        "_archive",
        "_transcripts",
        "_observations",
        "_likeness",
        "_lexicon",
        "_numbers",
        "_prompts",
        "_llm",
        "_markers",
    ),
    (
        "_calls",
        "_gate",
        "_extract",
        "_window",
        "_pending",
        "_answer",
        "_memory",
        "_settle",
        "_reflect",
        "_dream",
        "_staging",
        "_recall",
        "_hooks",
        "_account",
        "_tombstones",
        "_clean",
    ),
    ("_cli",),
    ("_setup", "_watch", "_dream_files", "_night", "_forget", "_doctor", "_observe"),
)
LEVEL_OF = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}
LAYER = "(any layer)"
HOMES = {
    "requests": ("_llm",),
    "urllib3": ("_llm",),
    "dotenv": ("_config",),
    "filelock": ("_files",),
    "zstandard": ("_transcripts",),
    "tqdm": (LAYER,),
    "inotify_simple": ("watcher",),
    "jsonschema": ("_dream_files",),
    "snowballstemmer": ("_lexicon",),
}
# Setup makes the environment that all the others run in, and the folder of a trial.
MAY_WRITE = ("_files", "_setup")
LATER_LIBRARY = ("compression",)  # Python 3.14
# It has to be understood by a Python that is too old, to say so: no annotations, and it talks by itself.
FOR_ANY_PYTHON = "setup"
SYSTEM_FILES = ("/etc/localtime",)


@dataclass(frozen=True)
class Module:
    """One parsed file. `room` is the first part of its name: "_llm" for scripts/_llm/ask.py, "observer" for a layer."""

    name: str
    room: str
    tree: ast.Module
    names: "dict[str, str]"

    @property
    def is_layer(self) -> bool:
        return not self.room.startswith("_")


@dataclass(frozen=True)
class Finding:
    """Something that was judged. `complaint` is "" when it keeps the rule."""

    module: str
    line: int
    complaint: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.complaint}"


Rule = Callable[[Module], Iterator[Finding]]


def parse(name: str, source: str) -> Module:
    tree = ast.parse(source, name)
    return Module(name, name.split("/")[0].removesuffix(".py"), tree, imported_names(tree))


def imported_names(tree: ast.Module) -> "dict[str, str]":
    """What each imported name stands for: {"dt": "datetime.datetime"} after `from datetime import datetime as dt`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def dotted(module: Module, node: ast.AST) -> str:
    """ "os.path.join" for that expression whatever it was imported as; "" for what is no dotted name."""
    if isinstance(node, ast.Name):
        return module.names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        front = dotted(module, node.value)
        return f"{front}.{node.attr}" if front else ""
    return ""


def calls(module: Module) -> "Iterator[tuple[ast.Call, str]]":
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            yield node, dotted(module, node.func)


def imports(module: Module) -> "Iterator[tuple[ast.stmt, str]]":
    """Every import as (node, first part of the imported module's name)."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            yield node, "." if node.level else (node.module or "").split(".")[0]


def run_on_import(body: "list[ast.stmt]") -> "Iterator[ast.AST]":
    """Every node that runs when the module is imported: not the insides of functions, nor what only a script or a
    type checker sees, nor annotations."""
    for statement in body:
        if isinstance(statement, ast.If) and is_guard(statement.test):
            continue
        yield from running_parts(statement)


def is_guard(test: ast.expr) -> bool:
    return ast.unparse(test) in ("__name__ == '__main__'", "TYPE_CHECKING", "typing.TYPE_CHECKING")


def running_parts(node: ast.AST) -> "Iterator[ast.AST]":
    yield node
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, ast.Lambda):
        parts = []
    elif isinstance(node, ast.AnnAssign):
        parts = [node.value] if node.value else []
    for part in parts:
        yield from running_parts(part)


def inside_functions(module: Module) -> "set[ast.AST]":
    return {
        inner
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for inner in ast.walk(node)
    }


def is_standard(name: str) -> bool:
    """True for a module of Python's own library."""
    listed = getattr(sys, "stdlib_module_names", None)
    if name in LATER_LIBRARY:
        return True
    if listed is not None:
        return name in listed
    if name in sys.builtin_module_names:  # Python 3.9 has no list
        return True
    found = importlib.util.find_spec(name)
    origin = str(found.origin) if found else ""
    return origin.startswith(sysconfig.get_paths()["stdlib"]) and "site-packages" not in origin


# The rules -----------------------------------------------------------------------------------------------------------


def rooms_import_downward(module: Module) -> Iterator[Finding]:
    own = LEVEL_OF.get(module.room, len(LEVELS))
    if not module.is_layer and module.room not in LEVEL_OF:
        yield Finding(module.name, 1, f"{module.room} has no level: add it to LEVELS")
    for node, name in imports(module):
        if name == ".":
            yield Finding(module.name, node.lineno, "relative import: rooms are imported by their flat name")
        elif name in LEVEL_OF and name != module.room:
            up = LEVEL_OF[name] > own
            yield Finding(
                module.name, node.lineno, f"{module.room} imports {name}, which is above it" if up else ""
            )


def layers_import_no_layer(module: Module) -> Iterator[Finding]:
    for node, name in imports(module):
        if name == module.room or is_standard(name) or name in HOMES or name in LEVEL_OF:
            if module.is_layer:
                yield Finding(module.name, node.lineno)
        elif (SCRIPTS / f"{name}.py").exists():
            yield Finding(module.name, node.lineno, f"{name} is a layer: start it as a process")


def packages_stay_at_home(module: Module) -> Iterator[Finding]:
    """Third-party packages: only where they live, and only inside the function that needs them."""
    inside = inside_functions(module)
    for_types = {
        inner
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    local = {path.stem for path in SCRIPTS.glob("*.py")} | set(LEVEL_OF)
    for node, name in imports(module):
        if name == "." or name in local or is_standard(name):
            continue
        home = HOMES.get(name, ())
        if module.room not in home and not (module.is_layer and LAYER in home):
            yield Finding(module.name, node.lineno, f"{name} does not live in {module.room}")
        elif node not in inside and node not in for_types:
            yield Finding(module.name, node.lineno, f"{name} is imported outside a function")
        else:
            yield Finding(module.name, node.lineno)


PURE_CALLS = frozenset(
    """dataclasses.dataclass dataclasses.field frozenset tuple list dict set sorted enumerate zip
    range len min max sum ord chr str int float re.compile
    pathlib.Path typing.TypeVar typing.NewType typing.NamedTuple functools.lru_cache datetime.timedelta
    datetime.datetime json.JSONDecoder str.maketrans
    types.MappingProxyType""".split()
)
# The second line builds tables.
PURE_METHODS = frozenset(
    """split splitlines join strip casefold lower upper replace format items keys values resolve with_name
    get setdefault update append extend add""".split()
)


def importing_does_nothing(module: Module) -> Iterator[Finding]:
    """At module level: only definitions, constants, and calls that are known to be pure."""
    own = {node.name: node for node in module.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    pending = list(run_on_import(module.tree.body))
    looked_into: "set[str]" = set()
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.With, ast.While, ast.Try, ast.Delete, ast.Global, ast.Assert)):
            yield Finding(module.name, node.lineno, f"{type(node).__name__} statement at import")
        if not isinstance(node, ast.Call):
            continue
        name = dotted(module, node.func)
        if name in own:
            # A function of this module: then what it calls runs at import as well.
            helper = own[name]
            if name not in looked_into and isinstance(helper, ast.FunctionDef):
                looked_into.add(name)
                pending += [inner for part in helper.body for inner in ast.walk(part)]
            yield Finding(module.name, node.lineno)
            continue
        pure = name in PURE_CALLS or (isinstance(node.func, ast.Attribute) and node.func.attr in PURE_METHODS)
        yield Finding(
            module.name, node.lineno, "" if pure else f"{ast.unparse(node.func)}() is called at import"
        )


def only_cli_talks(module: Module) -> Iterator[Finding]:
    yield from used_only_in(
        module,
        ("_cli", FOR_ANY_PYTHON),
        ("print", "input", "sys.stdout", "sys.stderr", "sys.stdin", "sys.__stdout__", "sys.__stderr__"),
    )


def only_config_reads_the_environment(module: Module) -> Iterator[Finding]:
    yield from used_only_in(
        module, ("_config",), ("os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv")
    )


def only_compat_asks_the_clock(module: Module) -> Iterator[Finding]:
    clock = "datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today"
    clock += " time.time time.time_ns time.localtime time.gmtime time.ctime time.strftime"
    yield from used_only_in(module, ("_compat",), tuple(clock.split()))


def used_only_in(module: Module, rooms: "tuple[str, ...]", names: "tuple[str, ...]") -> Iterator[Finding]:
    for node in ast.walk(module.tree):
        read = isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
        if read and dotted(module, node) in names:
            allowed = module.room in rooms
            yield Finding(
                module.name,
                node.lineno,
                "" if allowed else f"{dotted(module, node)} belongs into {' or '.join(rooms)}",
            )


WRITING_CALLS = frozenset(
    """os.write os.pwrite os.replace os.rename os.renames os.unlink os.remove os.truncate os.ftruncate os.mkdir
    os.makedirs os.rmdir os.removedirs os.chmod os.fchmod os.link os.symlink os.utime os.mkfifo os.fdopen""".split()
)
WRITING_METHODS = frozenset(
    "write_text write_bytes touch mkdir rmdir unlink rename symlink_to hardlink_to chmod".split()
)
HARMLESS_SHUTIL = ("shutil.which", "shutil.disk_usage", "shutil.get_terminal_size")


def only_files_writes(module: Module) -> Iterator[Finding]:
    for node, name in calls(module):
        what = writes(module, node, name)
        if what:
            allowed = module.room in MAY_WRITE
            yield Finding(module.name, node.lineno, "" if allowed else f"{what} belongs into _files")


def writes(module: Module, node: ast.Call, name: str) -> str:
    """What in this call writes to the disk; "" for nothing."""
    if name in WRITING_CALLS or name.startswith("tempfile."):
        return name
    if name.startswith("shutil.") and name not in HARMLESS_SHUTIL:
        return name
    if name == "os.open":
        opens_null = bool(node.args) and dotted(module, node.args[0]) == "os.devnull"
        reads = len(node.args) > 1 and dotted(module, node.args[1]) == "os.O_RDONLY"
        return "" if opens_null or reads else name
    if name in ("open", "io.open"):
        return name if mode_writes(node, 1) else ""
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in WRITING_METHODS:
            return f".{node.func.attr}()"
        if node.func.attr == "open" and mode_writes(node, 0):
            return ".open() for writing"
    return ""


def mode_writes(node: ast.Call, position: int) -> bool:
    given = [word.value for word in node.keywords if word.arg == "mode"] + node.args[position : position + 1]
    return any(
        not isinstance(mode, ast.Constant)
        or (isinstance(mode.value, str) and bool(set("wax+") & set(mode.value)))
        for mode in given
    )


def one_place_catches_everything(module: Module) -> Iterator[Finding]:
    """`except Exception` (or wider) stands once, in _cli.run."""
    home = next(
        (
            n
            for n in module.tree.body
            if module.room == "_cli" and isinstance(n, ast.FunctionDef) and n.name == "run"
        ),
        None,
    )
    at_home = set(ast.walk(home)) if home else set()
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        wide = any(one is None or dotted(module, one) in ("Exception", "BaseException") for one in caught)
        bad = wide and node not in at_home
        yield Finding(module.name, node.lineno, "catches everything: only _cli.run may" if bad else "")


DANGEROUS = (
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "pickle.loads",
)


def nothing_is_run_by_a_shell(module: Module) -> Iterator[Finding]:
    for node, name in calls(module):
        shell = any(word.arg == "shell" and not is_false(word.value) for word in node.keywords)
        bad = name in DANGEROUS or shell or name.endswith(".exec_module")
        yield Finding(module.name, node.lineno, f"{name or 'a call'} runs a text as a program" if bad else "")


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


ROOTS = tuple(
    f"/{top}/" for top in "home root tmp var usr etc opt Users work private mnt srv dev proc Library".split()
)


def no_absolute_paths(module: Module) -> Iterator[Finding]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            bad = node.value.startswith(ROOTS) and node.value not in SYSTEM_FILES
            yield Finding(module.name, node.lineno, f"absolute path {node.value[:40]!r}" if bad else "")


def modules_have_docstrings(module: Module) -> Iterator[Finding]:
    missing = not ast.get_docstring(module.tree)
    yield Finding(module.name, 1, "no module docstring" if missing else "")


def public_names_have_docstrings(module: Module) -> Iterator[Finding]:
    if module.is_layer:
        return
    for node in module.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            missing = not ast.get_docstring(node)
            yield Finding(module.name, node.lineno, f"{node.name} has no docstring" if missing else "")


def annotations_are_not_evaluated(module: Module) -> Iterator[Finding]:
    """`from __future__ import annotations`, without which Python 3.9 stumbles over `X | Y`."""
    there = module.room == FOR_ANY_PYTHON or any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in module.tree.body
    )
    yield Finding(module.name, 1, "" if there else "from __future__ import annotations is missing")


def names_shadow_no_library(module: Module) -> Iterator[Finding]:
    """A room called _strptime would break Python itself: scripts/ comes first in sys.path."""
    bad = is_standard(module.room)
    yield Finding(module.name, 1, f"{module.room} is a module of Python's library" if bad else "")


RULES: "tuple[Rule, ...]" = (
    rooms_import_downward,
    layers_import_no_layer,
    packages_stay_at_home,
    importing_does_nothing,
    only_cli_talks,
    only_config_reads_the_environment,
    only_compat_asks_the_clock,
    only_files_writes,
    one_place_catches_everything,
    nothing_is_run_by_a_shell,
    no_absolute_paths,
    modules_have_docstrings,
    public_names_have_docstrings,
    annotations_are_not_evaluated,
    names_shadow_no_library,
)


# The package keeps them ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def package() -> "list[Module]":
    return [
        parse(path.relative_to(SCRIPTS).as_posix(), path.read_text("utf-8"))
        for path in sorted(SCRIPTS.rglob("*.py"))
        if not any(part.startswith(".") for part in path.relative_to(SCRIPTS).parts)
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_module_keeps_the_rule(rule: Rule, package: "list[Module]") -> None:
    findings = [finding for module in package for finding in rule(module)]
    assert findings, f"{rule.__name__} found nothing to check"
    assert [str(finding) for finding in findings if finding.complaint] == []


def test_every_room_of_the_levels_is_there_and_every_room_has_a_level(package: "list[Module]") -> None:
    rooms = {module.room for module in package if not module.is_layer}
    assert rooms == set(LEVEL_OF)


def test_contributing_tells_the_same_levels() -> None:
    page = (SCRIPTS.parent / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d) \| (.*) \|$", page, re.MULTILINE)
    told = {int(number): set(re.findall(r"`(_[a-z_]+)/?`", row)) for number, row in rows}
    assert told == {number: set(rooms) for number, rooms in enumerate(LEVELS, start=1)} | {
        len(LEVELS) + 1: set()
    }


def test_every_package_that_is_installed_has_a_home_and_the_reverse() -> None:
    wanted = (SCRIPTS.parent / "requirements.txt").read_text("utf-8")
    names = set(re.findall(r"^([a-z][a-z-]*)", wanted, re.MULTILINE))
    modules = {name.replace("python-", "").replace("-", "_") for name in names}
    assert modules == set(HOMES) - {"urllib3"}  # comes with requests


def test_rooms_of_one_level_do_not_import_each_other_in_a_circle(package: "list[Module]") -> None:
    needs: "dict[str, set[str]]" = {room: set() for room in LEVEL_OF}
    for module in package:
        if module.room in needs:
            needs[module.room] |= {name for _, name in imports(module) if name in needs} - {module.room}
    assert sum(map(len, needs.values())) > 10
    while needs:
        free = {room for room, wanted in needs.items() if not wanted & set(needs)}
        assert free, f"these import each other: {sorted(needs)}"
        needs = {room: wanted for room, wanted in needs.items() if room not in free}


def layers() -> "list[Path]":
    return sorted(path for path in SCRIPTS.glob("*.py") if not path.name.startswith("_"))


def test_there_are_layers_to_check() -> None:
    assert {"observer.py", "setup.py"} <= {path.name for path in layers()}


@pytest.mark.parametrize("path", layers(), ids=lambda path: path.name)
def test_help_prints_the_docstring_and_needs_no_package(path: Path, tmp_path: Path) -> None:
    # -S: no site-packages, so that a machine with Python alone can read the manual.
    done = subprocess.run(
        [sys.executable, "-E", "-S", str(path), "--help"],
        cwd=tmp_path,
        env={
            "HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    documentation = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert documentation
    assert documentation.strip() in done.stdout
    assert "exit codes:" in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


# The rules notice ----------------------------------------------------------------------------------------------------

OFFENCES: "list[tuple[Rule, str, str]]" = [
    (rooms_import_downward, "_files.py", "from _state import State"),
    (rooms_import_downward, "_observations/log.py", "def f():\n    import _gate"),
    (rooms_import_downward, "_llm/ask.py", "from _cli import run"),
    (rooms_import_downward, "_compat.py", "from _config import Config"),
    (rooms_import_downward, "_llm/ask.py", "from .question import Question"),
    (rooms_import_downward, "_helpers.py", "import os"),
    (layers_import_no_layer, "watcher.py", "from observer import observe"),
    (layers_import_no_layer, "_cli.py", "def f():\n    import observer"),
    (packages_stay_at_home, "_state.py", "def f():\n    import requests"),
    (packages_stay_at_home, "_llm/http_api.py", "import requests"),
    (packages_stay_at_home, "_files.py", "try:\n    import filelock\nexcept ImportError:\n    pass"),
    (packages_stay_at_home, "_window.py", "def f():\n    from tqdm import tqdm"),
    (packages_stay_at_home, "observer.py", "def f():\n    import numpy"),
    (importing_does_nothing, "_config.py", "HOME = Path.home()"),
    (importing_does_nothing, "_state.py", "DATA = open('state.json').read()"),
    (importing_does_nothing, "_files.py", "class A:\n    started = utc_now()"),
    (importing_does_nothing, "_files.py", "def f(now=time.monotonic()):\n    pass"),
    (importing_does_nothing, "_cli.py", "import logging\nlogging.basicConfig()"),
    (importing_does_nothing, "_gate.py", "def table():\n    return open('t').read()\nTABLE = table()"),
    (importing_does_nothing, "_gate.py", "try:\n    x = 1\nfinally:\n    y = 2"),
    (only_cli_talks, "observer.py", "print('done')"),
    (only_cli_talks, "_files.py", "import sys\nsys.stderr.write('no')"),
    (only_cli_talks, "_files.py", "from sys import stdout as out\nout.write('no')"),
    (only_cli_talks, "_setup/environment.py", "answer = input('sure?')"),
    (only_config_reads_the_environment, "_llm/host_cli.py", "import os\nx = os.environ['A']"),
    (only_config_reads_the_environment, "observer.py", "from os import getenv as g\nx = g('A')"),
    (only_compat_asks_the_clock, "observer.py", "from datetime import datetime as d\nx = d.now()"),
    (only_compat_asks_the_clock, "_llm/ask.py", "import time\nx = time.time()"),
    (only_compat_asks_the_clock, "_gate.py", "import datetime\nx = datetime.date.today()"),
    (only_compat_asks_the_clock, "_gate.py", "from time import time\ndef f(now=time):\n    pass"),
    (only_files_writes, "observer.py", "open('a', 'w')"),
    (only_files_writes, "observer.py", "open('a', mode='r+b')"),
    (only_files_writes, "observer.py", "open('a', how)"),
    (only_files_writes, "_state.py", "path.write_text('x')"),
    (only_files_writes, "_state.py", "path.open('ab')"),
    (only_files_writes, "_state.py", "import os\nos.open('a', os.O_WRONLY | os.O_CREAT)"),
    (only_files_writes, "_cli.py", "from os import replace\nreplace('a', 'b')"),
    (only_files_writes, "_cli.py", "import shutil\nshutil.rmtree('a')"),
    (only_files_writes, "_cli.py", "import tempfile\ntempfile.mkdtemp()"),
    (one_place_catches_everything, "_state.py", "try:\n    f()\nexcept Exception:\n    pass"),
    (one_place_catches_everything, "_state.py", "try:\n    f()\nexcept:\n    pass"),
    (one_place_catches_everything, "_cli.py", "try:\n    f()\nexcept (OSError, BaseException):\n    pass"),
    (nothing_is_run_by_a_shell, "_cli.py", "import subprocess\nsubprocess.run('ls', shell=True)"),
    (nothing_is_run_by_a_shell, "_cli.py", "import os\nos.system('ls')"),
    (nothing_is_run_by_a_shell, "_cli.py", "ev" + "al('1')"),
    (no_absolute_paths, "_config.py", "X = '/usr/local/bin/openclaw'"),
    (no_absolute_paths, "_config.py", "def f():\n    return f'/home/{name}'"),
    (modules_have_docstrings, "_config.py", "X = 1"),
    (public_names_have_docstrings, "_config.py", "def load():\n    return 1"),
    (public_names_have_docstrings, "_config.py", "class Config:\n    pass"),
    (annotations_are_not_evaluated, "_config.py", "import os"),
    (names_shadow_no_library, "_strptime.py", ""),
    (names_shadow_no_library, "calendar.py", ""),
]
INNOCENT: "list[tuple[Rule, str, str]]" = [
    (
        rooms_import_downward,
        "_gate/verdict.py",
        "from _observations import Candidate\nfrom _gate.secrets import x",
    ),
    (rooms_import_downward, "observer.py", "import _cli\nfrom _state import State"),
    (layers_import_no_layer, "observer.py", "import json\nfrom _cli import run"),
    (packages_stay_at_home, "_llm/http_api.py", "def f():\n    import requests"),
    (packages_stay_at_home, "_llm/http_api.py", "if TYPE_CHECKING:\n    import requests"),
    (packages_stay_at_home, "observer.py", "def f():\n    from tqdm import tqdm"),
    (importing_does_nothing, "_gate.py", "import re\nX = re.compile('a')\nY = frozenset('a b'.split())"),
    (importing_does_nothing, "_gate.py", "X = frozenset()\ndef f():\n    return open('t')"),
    (importing_does_nothing, "observer.py", "X = tuple()\nif __name__ == '__main__':\n    sys.exit(main())"),
    (only_cli_talks, "_cli.py", "import sys\nsys.stdout.write('x')"),
    (only_config_reads_the_environment, "_config.py", "import os\nx = os.environ"),
    (only_compat_asks_the_clock, "_compat.py", "from datetime import datetime\ndef f():\n    datetime.now()"),
    (only_files_writes, "_files.py", "import os\nos.replace('a', 'b')"),
    (only_files_writes, "_setup/environment.py", "path.mkdir()"),
    (
        one_place_catches_everything,
        "_cli.py",
        "def run():\n    try:\n        f()\n    except Exception:\n        pass",
    ),
    (one_place_catches_everything, "_state.py", "try:\n    f()\nexcept (OSError, ValueError):\n    pass"),
    (nothing_is_run_by_a_shell, "_cli.py", "import subprocess\nsubprocess.run(['ls'], shell=False)"),
    (no_absolute_paths, "_llm/http_api.py", "X = '/chat/completions'"),
    (no_absolute_paths, "_config.py", "X = '/etc/localtime'"),
    (modules_have_docstrings, "_config.py", '"""Settings."""'),
    (public_names_have_docstrings, "_config.py", "def _load():\n    return 1\ndef load():\n    'Load it.'"),
    (annotations_are_not_evaluated, "_config.py", "from __future__ import annotations"),
    (names_shadow_no_library, "_config.py", ""),
]


def complaints(rule: Rule, name: str, source: str) -> "list[str]":
    return [finding.complaint for finding in rule(parse(name, source)) if finding.complaint]


@pytest.mark.parametrize("rule, name, source", OFFENCES, ids=lambda value: getattr(value, "__name__", None))
def test_an_offence_is_noticed(rule: Rule, name: str, source: str) -> None:
    assert complaints(rule, name, source) != []


@pytest.mark.parametrize("rule, name, source", INNOCENT, ids=lambda value: getattr(value, "__name__", None))
def test_what_keeps_a_rule_is_judged_and_let_pass(rule: Rule, name: str, source: str) -> None:
    assert list(rule(parse(name, source))) != []
    assert complaints(rule, name, source) == []


def test_every_rule_is_tried_both_ways() -> None:
    assert {rule for rule, _, _ in OFFENCES} == set(RULES)
    assert {rule for rule, _, _ in INNOCENT} == set(RULES)


@pytest.mark.parametrize(
    "mode, expected", [("r", False), ("rb", False), ("w", True), ("ab", True), ("r+", True)]
)
def test_the_mode_of_open_tells_reading_from_writing(mode: str, expected: bool) -> None:
    call: Optional[ast.expr] = ast.parse(f"open('a', {mode!r})", mode="eval").body
    assert isinstance(call, ast.Call)
    assert mode_writes(call, 1) is expected
