#!/bin/sh
# Shows what dex does, on a fresh data directory. Run it with `make demo`.
set -eu
cd "$(dirname "$0")/.."

DEX_DATA_DIR="$(pwd)/.demo/data"
XDG_STATE_HOME="$(pwd)/.demo/state"
export DEX_DATA_DIR XDG_STATE_HOME
rm -rf .demo
mkdir -p .demo

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() {
  printf '\033[36m$ %s\033[0m\n' "$*"
  "$@"
}
refused() {
  printf '\033[36m$ %s\033[0m\n' "$*"
  if "$@"; then echo "this should have been refused" >&2; exit 1; else echo "(exit code $?)"; fi
}

say "1. WCL declares stores; a script can be run again without harm"
run dex batch samples/employees.wcl -o table
run dex batch samples/employees.wcl -o table

say "2. Rows with typed named keys, unique or grouping"
run dex wcl "DEFINE STATESTORE demo.people KEYS department, passport UNIQUE"
run dex store put demo.people user-1 '{"name": "Ann"}' --named passport=P111 --named department=eng
run dex store put demo.people user-2 '{"name": "Bob"}' --named passport=P222 --named department=eng
run dex store get-by demo.people department eng -o table

say "3. What is refused changed nothing, and says what to do"
refused dex store put demo.people user-3 x --named passport=P111
refused dex store put demo.people user-3 x --named departement=eng
refused dex wcl 'DROP STATESTOR demo.people'

say "4. A mutation id makes a write safe to repeat"
run dex store put demo.people user-4 hello --mutation-id 7f3c
run dex store put demo.people user-4 hello --mutation-id 7f3c

say "5. Feeds materialise into stores"
run dex wcl "DEFINE FEED demo.events"
run dex feed append demo.events user-1 '{"dept": "eng", "level": 3}' --metadata pp=P111
run dex wcl "DEFINE STATESTORE demo.tagged FROM FEED demo.events KEYS passport = METADATA 'pp' UNIQUE, department = JSON 'dept'"
run dex feed append demo.events user-2 '{"dept": "ops"}' --metadata pp=P222
run dex store iterate demo.tagged -o table

say "6. A thousand rows in, and out again"
awk 'BEGIN { for (i = 1; i <= 1000; i++) printf "{\"key\": \"person-%04d\", \"payload\": \"profile %d\", \"named\": {\"department\": \"d%d\"}}\n", i, i, i % 7 }' >.demo/people.ndjson
run dex store import demo.people .demo/people.ndjson
run dex store export demo.people .demo/export.ndjson
run dex store describe demo.people -o table

say "7. The shell"
python samples/demo_shell.py

say "8. The target checks out"
run dex smoke -o table

say "Done. Go on by yourself:  export DEX_DATA_DIR=$DEX_DATA_DIR; .venv/bin/dex"
