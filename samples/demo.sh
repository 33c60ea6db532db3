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

say "7. Customer profiles by email address: a hash-partitioned AttributeMap"
run dex profile start
run dex profile import samples/people.csv
run dex profile upsert ' Ann@Example.TEST ' --name "Ann Example" --company "Example Ltd" --tier gold
run dex profile get ann@example.test -o table
run dex profile get ada.abbot.0001@example.test -o table
refused dex profile get nobody@example.test

say "8. A thousand subscribers in order: a sequentially chunked AttributeMap"
run dex subscriber start
awk 'BEGIN {
  for (i = 1; i <= 1000; i++)
    printf "%s{\"command\": \"invoke_rpc\", \"flow_id\": \"chunked-subscribers\", \"rpc\": \"RegisterSubscriber\", \"input\": {\"subscriberId\": \"s-%04d\", \"deliveryAddress\": \"s-%04d@example.test\"}}", i == 1 ? "[" : ",\n", i, i
  print "]"
}' >.demo/registrations.json
run dex command @.demo/registrations.json >.demo/registered.json
run dex subscriber list --limit 3 -o table
run dex subscriber page 00000000000000000001 >.demo/oldest-page.json
refused dex subscriber page 00000000000000009901
refused dex subscriber page first
dex subscriber list --all -o csv | awk -F, '
  NR > 1 && $1 != 1002 - NR { print "sequence " $1 " is not in its place" > "/dev/stderr"; exit 1 }
  END { if (NR != 1001) { print "there are " NR - 1 " subscribers" > "/dev/stderr"; exit 1 } print "1000 subscribers, each once and in order" }'

say "9. A Flow of your own: Steps that wait for a Channel or a Timer"
run dex flow start OrderFlow order-1 --input '{"orderId": "o1", "cents": 900}' --flows samples/order_flow.py
run dex flow publish order-1 Payments 400 500 --flows samples/order_flow.py
run dex flow wait order-1 --flows samples/order_flow.py
run dex flow history order-1 -o table

say "10. A thousand Flows as rows in a PostgreSQL, which is started for it"
python samples/demo_sync.py

say "11. The shell"
python samples/demo_shell.py

say "12. The target checks out"
run dex smoke -o table

say "Done. Go on by yourself:  export DEX_DATA_DIR=$DEX_DATA_DIR; .venv/bin/dex"
