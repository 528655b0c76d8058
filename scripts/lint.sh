#!/bin/sh
# ruff and mypy over the checkout, seen through a link named `galloscope`: mypy takes module names from folder names,
# and a checkout may be called anything. Caches live in the temporary folder, so nothing is left behind.
set -eu
root=$(pwd)
seen=$(mktemp -d)
trap 'rm -rf "$seen"' EXIT
trap 'exit 130' INT TERM
ln -s "$root" "$seen/galloscope"

failed=0
"$root/.venv/bin/ruff" check --no-cache . || failed=1
"$root/.venv/bin/ruff" format --no-cache --check . || failed=1
cd "$seen"
set --
for path in __init__.py app core tests benchmarks scripts; do
    [ -n "$(find "galloscope/$path" -name '*.py' 2>/dev/null | head -n 1)" ] && set -- "$@" "galloscope/$path"
done
MYPYPATH=$seen "$root/.venv/bin/mypy" --explicit-package-bases --config-file galloscope/pyproject.toml --cache-dir "$seen/cache" "$@" || failed=1
exit $failed
