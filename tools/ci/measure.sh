#!/usr/bin/env bash
# Measures a server by a scenario, several times, in turn with the server it is compared with, and compares.
# For CI services: action.yml and tools/ci/gitlab.yml call it.
#
#   SCENARIO   the scenario
#   TARGET     URL of the server under test
#   BASE_TARGET  URL of the server it is compared with, such as the main branch's; both are measured in turn
#   BASE       or: a folder of results of it, kept from another time; nothing to compare without either
#   TIMES      how often each is measured [5]
#   OUT        folder of the results, has to be new or empty [uaperf-results]
#   METRIC, MAX_REGRESSION, FAIL_ON   as the options of `uaperf compare`
#
# Writes OUT/new and OUT/base (a file for each measurement), OUT/report.html and OUT/comment.md.
# Ends with 3 when a threshold or the comparison failed, with 1 or 2 when something could not be measured, with 4 when
# most of it cannot be believed.

set -euo pipefail

: "${SCENARIO:?names the scenario}" "${TARGET:?is the URL of the server}"
times=${TIMES:-5}
out=${OUT:-uaperf-results}
case $times in
'' | *[!0-9]* | 0)
    echo "TIMES: want a number of 1 or more, not '$times'" >&2
    exit 2
    ;;
esac
if [ -n "$(ls -A "$out" 2>/dev/null)" ]; then
    echo "OUT: $out is not empty: results of two occasions would be compared as one" >&2
    exit 2
fi

# A run that the machine disturbed (4) does not end it; a threshold that was missed (3) is remembered.
missed=0
measure() {
    local side=$1 url=$2 n=$3 code=0 file
    uaperf run "$SCENARIO" --target "$url" --repeat 1 --out "$out/each/$side/$n" -q || code=$?
    case $code in
    0 | 4) ;;
    3) [ "$side" = base ] || missed=3 ;;
    *) exit "$code" ;;
    esac
    mkdir -p "$out/$side"
    for file in "$out/each/$side/$n"/*.json; do
        [ "${file##*/}" = index.json ] || cp "$file" "$out/$side/$n-${file##*/}"
    done
}

for n in $(seq "$times"); do
    if [ -n "${BASE_TARGET:-}" ]; then
        measure base "$BASE_TARGET" "$n"
    fi
    measure new "$TARGET" "$n"
done

base=${BASE:-}
if [ -n "${BASE_TARGET:-}" ]; then
    base=$out/base
fi
if [ -z "$base" ]; then
    uaperf report "$out/new" -o "$out/report.html"
    echo "Nothing to compare with yet: $times of \`${SCENARIO##*/}\` measured." >"$out/comment.md"
    exit "$missed"
fi

options=()
[ -z "${METRIC:-}" ] || options+=(--metric "$METRIC")
[ -z "${MAX_REGRESSION:-}" ] || options+=(--max-regression "$MAX_REGRESSION")
[ -z "${FAIL_ON:-}" ] || options+=(--fail-on "$FAIL_ON")
code=0
uaperf compare "$base" "$out/new" "${options[@]}" --format markdown --report "$out/report.html" \
    >"$out/comment.md" || code=$?
if [ "$missed" -ne 0 ]; then
    printf '\n**FAILED:** a threshold of the scenario was missed\n' >>"$out/comment.md"
    [ "$code" -ne 0 ] && [ "$code" -ne 4 ] || code=$missed
fi
exit "$code"
