"""Look whether memory works: what runs, what waits, what is wrong and what to do about it, on one screen.

Without --fix it writes nothing (no log line either) and takes no lock. "Nothing to note" and "could not look" are told
apart. Each check is one of these, on the screen and in the JSON:

  ok     "ok"       as it should be; what there is to do then is an offer, such as proposals that wait for a decision
  note   "warn"     worth knowing
  WRONG  "fail"     to be mended
  ?      "unknown"  could not be looked at

  doctor.py                  look at everything; asks the configured model server for its list of models
  doctor.py --offline        leave that question out
  doctor.py --json           JSON on a terminal too; elsewhere it is JSON anyway
  doctor.py --fix            mend what is safe to mend: modes of our files, missing folders, temporary files that killed
                             runs left, another version of what setup.py had installed; then look again
  doctor.py --fix --dry-run  say what that would be

Keys are told as set or unset only, and of what was said there are only counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import _cli
from _cli import Result, Run
from _config import Config, is_restarted, load_what_holds
from _errors import ConfigError, MissingPackage, TotalRecallError

if TYPE_CHECKING:
    from _doctor import Finding, Mended, Scene
    from _setup import Packages

EXIT_CODES = """exit codes: 0 all is well, notes included; 1 unexpected; 2 usage; 3 something is wrong;
4 nothing is known to be wrong, but not all could be looked at; 130 interrupted"""


class Doctor:
    """One run: what was found wrong before it could begin."""

    def __init__(self) -> None:
        self.problems: "tuple[ConfigError, ...]" = ()
        self.packages: "Optional[Packages]" = None

    def configure(self, variables: Mapping[str, str], script: Optional[Path]) -> Config:
        """The settings that hold. Raises MissingPackage to go on in the environment of setup.py, where the layers run,
        when there is one and this Python lacks packages."""
        from _setup import look_for_packages

        try:
            self.packages = look_for_packages()
        except TotalRecallError:
            self.packages = None  # told by a check
        found = self.packages
        if found and found.lacking and found.environment and not is_restarted():
            raise MissingPackage(found.lacking[0].name)
        config, self.problems = load_what_holds(variables, script=script)
        return config

    def work(self, options: argparse.Namespace, run: Run) -> Result:
        """Look, mend if that is asked for, look again, tell."""
        from _doctor import Mended, Scene, examine, mend

        scene = Scene(run, self.problems, self.packages, options.offline)
        findings, mended = examine(scene), Mended([], [])
        if options.fix:
            mended = mend(scene, findings)
            if mended.done and not run.dry_run:
                scene = Scene(run, self.problems, self.packages, options.offline)
                findings = examine(scene)
        return result_of(scene, findings, mended, options.fix)


def result_of(scene: "Scene", findings: "Sequence[Finding]", mended: "Mended", fix: bool) -> Result:
    """What is told: the findings, the settings, what was mended."""
    from _doctor import as_facts, failure_of, page, settings_shown

    run, config = scene.run, scene.config
    facts: "dict[str, Any]" = {
        "workspace": str(config.workspace),
        "memory_dir": str(config.memory_dir),
        "agent": config.agent_id,
        "offline": scene.offline,
        "dry_run": fix and run.dry_run,
        **as_facts(findings),
        "settings": settings_shown(config),
    }
    if fix:
        facts["would_fix" if run.dry_run else "fixed"] = mended.done
        facts["not_fixed"] = mended.failed
    told = [f"would {one}" if run.dry_run else one for one in mended.done]
    told += [f"not done: {one}" for one in mended.failed]
    if fix and not told:
        told = ["there is nothing to mend"]
    shown = page(scene, findings, facts["settings"], told)
    problem = failure_of(findings)
    if problem is None:
        noted = facts["counts"]["warn"]
        return Result("ok", "noted" if noted else "well", facts, page=shown)
    return Result("error", problem.code, facts, problem.exit_code, problem, page=shown)


def build_parser() -> _cli.Parser:
    """The flags of this layer."""
    parser = _cli.make_parser("doctor", __doc__ or "", EXIT_CODES)
    parser.add_argument("--fix", action="store_true", help="mend what is safe to mend, then look again")
    parser.add_argument("--offline", action="store_true", help="do not ask the model server for its models")
    return parser


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the doctor; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--fix" not in arguments:
        arguments.append("--dry-run")  # so that no log is written either
    doctor = Doctor()
    return _cli.run("doctor", build_parser(), doctor.work, arguments, configure=doctor.configure)


if __name__ == "__main__":
    sys.exit(main())
