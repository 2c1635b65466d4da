#!/usr/bin/env bash
# Measures what docs/papers shows, and writes it, from the root of a checkout: about an hour on a machine with nothing
# else to do. Where the studies took minutes for each point it takes seconds, three times; all points are measured.
#
#   bash tools/papers.sh [FOLDER]
#
#   FOLDER   where the results go; what is there already is not measured again   [results/papers]
#   UAPERF   the program   [target/release/uaperf]
#   PAGES    where the pages go   [docs/papers]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
measured=${1:-results/papers}
uaperf=${UAPERF:-target/release/uaperf}
[ -x "$uaperf" ] || {
    echo "error: there is no program $uaperf" >&2
    echo "  try: cargo build --release --locked" >&2
    exit 1
}
parts=()
failed=0

# measure PART ID [OPTION…]: a folder for each part, which is there when the part is done.
measure() {
    local part=$1
    shift
    parts+=("$measured/$part")
    [ -e "$measured/$part" ] && return
    echo "=== $part: uaperf paper run $*"
    rm -rf "$measured/$part.unfinished"
    local code=0
    "$uaperf" paper run "$@" --out "$measured/$part.unfinished" || code=$?
    # In doubt (4) is an answer, too, and stands on the page.
    case $code in
        0 | 4) ;;
        *) failed=1 ;;
    esac
    mv "$measured/$part.unfinished" "$measured/$part"
}

thesis=(table_11 table_12 table_13 table_14 table_15 table_17 table_19 table_20 table_21 table_22 table_24)
for id in "${thesis[@]}"; do
    measure "tahvanainen2016.$id" "tahvanainen2016.$id" --scale quick --repeat 3
done
measure burger2019.fig_06 burger2019.fig_06 --repeat 3 -P duration=3s -P settle=1s
for id in fig_10 fig_11 fig_13; do
    measure "burger2019.$id" "burger2019.$id" --repeat 3 -P duration=3s -P settle=1s
done
# These end with their requests: as many as the study's, or fewer where a stack is slow.
measure tahvanainen2016.table_10 tahvanainen2016.table_10 --repeat 3
for id in sample_read_run sample_subscription_run; do
    measure "tahvanainen2016.$id" "tahvanainen2016.$id"
done
measure gonzalez2015 gonzalez2015
measure morato2021.table_04 morato2021.table_04 --repeat 3
measure morato2021.table_02 morato2021.table_02 --repeat 3 -P requests=10000
for id in table_07 table_09; do
    measure "morato2021.$id" "morato2021.$id" --repeat 3 -P duration=20s
done
measure cavalieri2010.table_01 cavalieri2010.table_01 --repeat 3 -P requests=30
measure cavalieri2010.types_2_3_subcases cavalieri2010.types_2_3_subcases --repeat 3 -P requests=20

"$uaperf" paper pages "${parts[@]}" --out "${PAGES:-docs/papers}"
exit "$failed"
