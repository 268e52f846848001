#!/bin/sh
# No include points up the house (docs/architecture.md §2). Usage: check_includes.sh ROOT
set -eu
cd "$1"
status=0

# forbid FROM-folders PATTERN WHY: no source below the folders may include what matches.
forbid() {
    for folder in $1; do
        [ -d "$folder" ] || continue
        hits=$(grep -rnE --include='*.c' --include='*.h' "^[[:space:]]*#[[:space:]]*include[[:space:]]*$2" "$folder" || true)
        if [ -n "$hits" ]; then
            printf '%s\n  ^ %s\n' "$hits" "$3"
            status=1
        fi
    done
}

up='"(adapters|scheduler|orchestrator|executor-lib|cli|ui|tests)/'
forbid core "$up" "the ground floor includes only core/"
forbid core/base '"core/(model|logic|ports)/' "core/base stands lowest"
forbid core/model '"core/(logic|ports)/' "core/model may include core/base only"
forbid core/logic '"core/ports/' "logic does not know the ports"
forbid "core/logic/time core/logic/assign" '"core/logic/(text|run)/' "time and assign stand below text and run"
forbid core/logic/text '"core/logic/run/' "text stands below run"
forbid core '<(curl|mysql|mariadb|zookeeper|sqlite3|uv|microhttpd|yaml|sodium|pthread|unistd|sys/|time)' "nothing of the outside on the ground floor but cJSON and uthash"
forbid adapters '"(scheduler|orchestrator|executor-lib|cli)/' "adapters do not know the roof"
forbid scheduler '"(adapters|orchestrator|executor-lib|cli|ui)/' "the scheduler sees ports only"
forbid orchestrator '"(scheduler|executor-lib|cli)/' "roofs do not see each other"
forbid executor-lib '"(scheduler|orchestrator|cli|ui)/' "roofs do not see each other"
exit $status
