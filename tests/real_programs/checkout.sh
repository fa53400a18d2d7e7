#!/bin/sh
# checkout.sh DIR OWNER/NAME COMMIT: the repository at the commit as DIR/OWNER+NAME, as the rows are looked for
set -e
place="$1/$(echo "$2" | tr / +)"
mkdir -p "$place" && cd "$place" && git init -q
git fetch -q --depth 1 "https://github.com/$2" "$3" && git checkout -q FETCH_HEAD
