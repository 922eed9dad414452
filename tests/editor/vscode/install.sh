#!/usr/bin/env bash
# Installs a real VS Code (code-server), the Node that it wants, Playwright and Chromium. Usage: install.sh CACHE_FOLDER
# Takes about a minute and 800 MB; does nothing when this exact set is there already.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$1
wanted=$(cat "$here/package.json" "$here/package-lock.json" "$here/install.sh" | sha256sum)

if ! command -v chromium >/dev/null; then
  command -v apt-get >/dev/null || { echo "The editor test needs Chromium: install it so that 'chromium' is on PATH." >&2; exit 4; }
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  $as_root apt-get install -qq -y --no-install-recommends chromium >/dev/null
fi

[ "$(cat "$cache/installed" 2>/dev/null)" = "$wanted" ] && exit 0
rm -rf "$cache"
mkdir -p "$cache"
cp "$here/package.json" "$here/package-lock.json" "$cache/"
cd "$cache"
npm_options=(--ignore-scripts --no-audit --no-fund --loglevel=error)
# With scripts, code-server fetches prebuilt binaries from elsewhere; what the test needs of it runs without them.
npm ci "${npm_options[@]}"
# `npm ci` fails in this folder: the shrinkwrap that is shipped is out of step with its package.json.
(cd node_modules/code-server/lib/vscode && npm install --omit=dev "${npm_options[@]}")
echo "$wanted" > installed
