#!/usr/bin/env bash
# Installs a Chromium for the tests that open a rendered page (build tag
# "browser") where none is found. Debian and Ubuntu; needs root. Quiet, and does
# nothing when a browser is there already.
set -euo pipefail

for browser in chromium chromium-browser google-chrome google-chrome-stable; do
	if command -v "$browser" >/dev/null 2>&1; then
		exit 0
	fi
done

if ! command -v apt-get >/dev/null 2>&1; then
	echo "install-chromium: no apt-get here: install Chromium by hand and run again" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1; then
	cat "$log" >&2
	echo "install-chromium: apt-get failed, see above" >&2
	exit 1
fi
command -v chromium >/dev/null || {
	cat "$log" >&2
	echo "install-chromium: apt-get ended well but left no chromium behind" >&2
	exit 1
}
