#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of a Python 3.13. A machine without one gets it through uv, and uv through the
# Python that is there; as root, the system's package manager is asked last. Progress is on stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[2m[setup]\033[0m %s\n' "$*" >&2; }
fail() { printf '[setup] %s\n' "$@" >&2; exit 2; }
is_313() { [ -x "$1" ] && "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in python3.13 python3 python; do
    candidate=$(command -v "$candidate" || true)
    # A version manager's shim may stand for a Python that is not selected: ask it to run.
    if [ -n "$candidate" ] && is_313 "$candidate"; then echo "$candidate"; return; fi
  done
  for candidate in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13*/bin/python3.13; do
    if is_313 "$candidate"; then echo "$candidate"; return; fi
  done
  if command -v uv >/dev/null; then
    candidate=$(uv python find 3.13 2>/dev/null || true)
    if [ -n "$candidate" ] && is_313 "$candidate"; then echo "$candidate"; return; fi
  fi
  return 1
}

# Sets `uv` to a program: the one on PATH, else the pinned one in a folder that goes at the end.
get_uv() {
  uv=$(command -v uv || true)
  [ -z "$uv" ] || return 0
  local python pin
  python=$(command -v python3 || command -v python || true)
  if [ -z "$python" ]; then reason="there is no Python to install uv with"; return 1; fi
  pin=$(sed -n 's/^\(uv==[0-9.]*\).*/\1/p' requirements.lock)
  # A virtualenv needs ensurepip, which Debian and Ubuntu leave out; --target needs pip alone.
  if { "$python" -m venv "$scratch/venv" && "$scratch/venv/bin/python" -m pip install --quiet "$pin"; } >"$scratch/log" 2>&1; then
    uv="$scratch/venv/bin/uv"
  elif "$python" -m pip install --quiet --target "$scratch/uv" "$pin" >>"$scratch/log" 2>&1; then
    uv="$scratch/uv/bin/uv"
  else
    reason="uv cannot be installed with $python: $(tail -n 1 "$scratch/log")"
    return 1
  fi
}

python_through_uv() {
  get_uv || return 1
  say "no Python 3.13 found, getting one through uv"
  if ! "$uv" python install --no-bin 3.13 >"$scratch/log" 2>&1; then
    reason="uv cannot fetch Python 3.13: $(tail -n 1 "$scratch/log")"
    return 1
  fi
  if ! "$uv" python find --managed-python 3.13 2>"$scratch/log"; then
    reason="the Python 3.13 that uv fetched does not start: $(tail -n 1 "$scratch/log")"
    return 1
  fi
}

python_through_apt() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  say "asking the system's package manager for Python 3.13"
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
    --no-install-recommends python3.13 python3.13-venv; } >/dev/null 2>&1 && find_python
}

if find_python; then exit 0; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
reason=""
# Not in a subshell: the message below needs `reason`.
uv=""
if python_through_uv >"$scratch/found"; then cat "$scratch/found"; exit 0; fi
if python_through_apt; then exit 0; fi
if command -v apt-cache >/dev/null && [ -n "$(apt-cache show python3.13 2>/dev/null)" ]; then
  helps="sudo apt-get install -y python3.13 python3.13-venv"
elif [ -z "${uv:-}" ] && command -v apt-get >/dev/null; then
  helps="sudo apt-get install -y python3-pip python3-venv"
else
  helps="pyenv install 3.13  (or set UV_PYTHON_INSTALL_MIRROR to a mirror that this machine reaches)"
fi
fail "there is no Python 3.13 here, and $reason" "run this, then make setup again: $helps"
