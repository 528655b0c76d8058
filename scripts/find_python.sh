#!/bin/sh
# Print the name of a Python 3.10 or newer that can make a virtual environment; without one, say in one sentence what to install.
lacking=
for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$python"
        exit 0
    fi
    [ -n "$lacking" ] || lacking=$python
done
if [ -n "$lacking" ]; then
    version=$("$lacking" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    echo "galloscope: $lacking (Python $version) has no venv module: install it first" \
        "(Debian, Ubuntu: apt-get install python$version-venv)." >&2
else
    found=$(python3 --version 2>/dev/null || echo "no python3 at all")
    echo "galloscope: Python 3.10 or newer is needed, and this machine has $found:" \
        "install one (Debian, Ubuntu: apt-get install python3 python3-venv)." >&2
fi
exit 1
