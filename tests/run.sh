#!/usr/bin/env bash
# Install what the tests need and run them: ruff, mypy, pytest, and what drives a real OpenClaw.
#
#   bash tests/run.sh                 everything
#   bash tests/run.sh -k cursor       only pytest, with these arguments
#   bash tests/run.sh -m openclaw     only what drives a real OpenClaw
#   bash tests/run.sh -m all_items    only the search for each archived item by its hooks; other runs take a sample
#   PYTHON=python3.9 bash tests/run.sh    with another Python, 3.9 or newer (default: python3)
#   LINT=0 bash tests/run.sh          without ruff and mypy
#   OPENCLAW=0 bash tests/run.sh      without a real OpenClaw; with 1 it is an error when there cannot be one
#
# The packages go into a virtual environment of their own, one for each Python, in TOTAL_RECALL_TEST_ENVS
# (default: ${XDG_CACHE_HOME:-~/.cache}/total-recall). It is used again until the requirements change. OpenClaw (two
# versions from npm, 1.2 GB) goes there as well, if npm is there and the registry can be reached.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
python=${PYTHON:-python3}

fail() {
  printf 'tests/run.sh: %s\n' "$1" >&2
  exit 3
}

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$python does not start: set PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || fail "Python $version is too old: set PYTHON to 3.9 or newer"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
  fail "$python cannot make virtual environments; on Debian and Ubuntu: sudo apt install python3-venv"

home=${HOME:-${TMPDIR:-/tmp}/total-recall-home-$(id -u)}
environment=${TOTAL_RECALL_TEST_ENVS:-${XDG_CACHE_HOME:-$home/.cache}/total-recall}/tests-$version
wanted=$("$python" -c 'import sys; print(sys.version)' | cat - requirements.txt tests/requirements.txt | cksum)
if [ "$(cat "$environment/wanted" 2>/dev/null)" != "$wanted" ] || ! "$environment/bin/python" -c '' 2>/dev/null; then
  echo "Installing what the tests need into $environment"
  rm -rf "$environment"
  mkdir -p "$(dirname "$environment")"
  "$python" -m venv "$environment"
  log=$environment/pip.log
  PIP_USER=0 "$environment/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
    -r tests/requirements.txt >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    fail "pip could not install tests/requirements.txt (is there a network?)"
  }
  printf '%s\n' "$wanted" >"$environment/wanted"
fi

bin=$environment/bin
unset PYTHONPATH PYTHONHOME PYTHONWARNINGS
export PYTHONPYCACHEPREFIX=$environment/pycache
# Two cores are enough; one process alone shows most about a failure that is looked for.
workers=(-n 2 --dist loadfile)
for argument in "$@"; do
  case $argument in -n | -n[0-9]* | --pdb | -x | --numprocesses* | openclaw) workers=() ;; esac
done

# A real OpenClaw: 2 to 3 minutes for each test. Prints why it cannot be had, nothing when it can.
why_no_openclaw() {
  if [ "${OPENCLAW:-}" = 0 ]; then
    echo "OPENCLAW=0 was asked for"
  elif ! command -v npm >/dev/null; then
    echo "there is no npm in PATH"
  else
    "$bin/python" tests/openclaw/installed.py || true
  fi
}

failed=0
if [ "${LINT:-}" = 1 ] || { [ $# -eq 0 ] && [ "${LINT:-}" != 0 ]; }; then
  "$bin/python" -m ruff check --output-format concise . || failed=1
  "$bin/python" -m ruff format --check . || failed=1
  # mypy needs a newer Python to run than what it checks.
  if "$bin/python" -c 'import mypy' 2>/dev/null; then
    "$bin/python" -m mypy || failed=1
  fi
fi
"$bin/python" -m pytest ${workers[@]+"${workers[@]}"} "$@" || failed=1
if [ $# -eq 0 ]; then
  why=$(why_no_openclaw)
  if [ -z "$why" ]; then
    echo "In a real OpenClaw:"
    "$bin/python" -m pytest -m openclaw --durations=0 --durations-min=1 tests/openclaw || failed=1
  else
    echo "Left out: what drives a real OpenClaw (tests/openclaw), because $why"
    [ "${OPENCLAW:-}" != 1 ] || failed=1
  fi
fi
exit $failed
