#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
base=http://127.0.0.1:3141
code() { curl --silent --output /dev/null --write-out '%{http_code} ' --path-as-is "$@"; }
code -X PUT --data evil "$base/simple/pip/" || true
code -X POST --data evil "$base/left-pad" || true
code "$base/-/file/127.0.0.1:5432/x" || true
code "$base/-/file/../../../etc/passwd" || true
code "$base/-/file/evil.example/x" || true
code --proxy "$base" http://169.254.169.254/latest/meta-data/ || true
code --proxytunnel --proxy "$base" http://10.0.0.1/ || true
