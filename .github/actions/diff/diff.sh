#!/usr/bin/env bash
# What action.yml runs; its inputs are variables. tests/cli/diff_action.rs runs it as GitHub does.
set -euo pipefail

# Adds each line of $2 that is not empty to the arguments, after the option $1 if there is one.
add() {
    local line
    while IFS= read -r line; do
        line=${line%$'\r'}
        if [ -n "$line" ]; then
            arguments+=(${1:+"$1"} "$line")
        fi
    done <<<"$2"
}

arguments=(--by "$BY")
add --fail-if "$FAIL_IF"
if [ -n "$BASELINE" ]; then
    arguments+=(--baseline "$BASELINE" --baselines "$BASELINES")
    add "" "$AFTER"
else
    arguments+=(--before)
    add "" "$BEFORE"
    arguments+=(--after)
    add "" "$AFTER"
fi

# 3: a limit is broken; 4: the runs cannot be compared. Both are answers, anything else is a failure.
status=0
table=$("$GPUPROF" diff --quiet --format markdown "${arguments[@]}") || status=$?
if [ "$status" -ne 0 ] && [ "$status" -ne 3 ] && [ "$status" -ne 4 ]; then
    echo "::error title=gpuprof::the traces could not be read, see the log"
    exit "$status"
fi
answer=$("$GPUPROF" diff --quiet --format json "${arguments[@]}") || true
verdict=$(sed -n 's/^  "verdict": "\(.*\)",$/\1/p' <<<"$answer")
failed=false
if [ "$status" -ne 0 ]; then
    failed=true
fi
printf 'verdict=%s\nfailed=%s\n' "$verdict" "$failed" >>"$GITHUB_OUTPUT"
printf '## GPU time: %s\n\n%s\n' "$verdict" "$table" >>"$GITHUB_STEP_SUMMARY"
printf '%s\n' "$table"
case $status in
    3) echo "::error title=gpuprof::GPU time is $verdict, and a limit is broken" ;;
    4) echo "::error title=gpuprof::the runs cannot be compared" ;;
esac
exit "$status"
