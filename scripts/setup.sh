#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes .venv with everything the product and its tests need. Safe to run again: what is there stays.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022  # if started as root, boxes run as other users, who must be able to read the installation

say() { printf '\033[2m[setup]\033[0m %s\n' "$*"; }
fail() { printf '[setup] %s\n' "$*" >&2; exit 2; }
is_313() { "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; }

apt_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  if [ -z "${apt_updated:-}" ]; then apt-get -qq update; apt_updated=1; fi
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

if ! [ -x .venv/bin/python ] || ! is_313 .venv/bin/python; then
  python=$(scripts/python313.sh) || exit 2
  say "making .venv with $("$python" --version)"
  "$python" -m venv --clear .venv
fi

wanted=$(cat requirements.lock pyproject.toml scripts/setup.sh | sha256sum | cut -d' ' -f1)
if [ "$(cat .venv/.setup-stamp 2>/dev/null)" != "$wanted" ]; then
  say "installing the locked requirements"
  pip_index=$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)
  if [ -n "$pip_index" ] && [ -z "${UV_DEFAULT_INDEX:-}" ]; then export UV_DEFAULT_INDEX="$pip_index"; fi
  export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"  # trust what the system trusts, as pip does
  uv_pin=$(sed -n 's/^\(uv==[0-9.]*\).*/\1/p' requirements.lock)
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "$uv_pin"
  # nemo-gym asks for 3.13.14 but runs on every 3.13, so uv resolves for 3.13.14.
  # Compile once here: with PYTHONDONTWRITEBYTECODE set, every server would do so at each start.
  .venv/bin/uv pip install --quiet --python .venv/bin/python --python-version 3.13.14 \
    --compile-bytecode --require-hashes -r requirements.lock
  .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation \
    --reinstall-package vibench-gym --editable .
  .venv/bin/python -m compileall -q src
  echo "$wanted" > .venv/.setup-stamp
fi

if ! .venv/bin/vibench-gym doctor --only Chromium --quiet; then
  say "installing Chromium and fonts"
  apt_install chromium fonts-noto-color-emoji fonts-liberation || .venv/bin/playwright install chromium ||
    fail "Chromium is missing and cannot be fetched: run 'sudo apt-get install -y chromium fonts-noto-color-emoji fonts-liberation' (your distribution's packages of these names), then make setup again"
fi
.venv/bin/vibench-gym warm
opencode=$(.venv/bin/python -m vibench_gym.gym.agent.harnesses.opencode.install)
# NeMo Gym reads env.yaml where it is started: its servers then run in .venv. Yours is left alone.
gym_config=$(.venv/bin/vibench-gym gym-config)
if ! [ -e env.yaml ] || head -n 1 env.yaml | grep -q 'Made by vibench-gym'; then cp "$gym_config" env.yaml; fi
say "ready: .venv/bin/vibench-gym; $opencode"
