#!/usr/bin/env bash
# Shows in a pull request what it changes in locks: one comment a lock, updated in place.
# In: REPOSITORY NUMBER BASE, GH_TOKEN for gh. ENVGUARD and GH name the programs.
set -euo pipefail
envguard="${ENVGUARD:-${RUNNER_TEMP:-}/envguard/bin/envguard}"
gh="${GH:-gh}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

git diff --name-only -z --diff-filter=M "$BASE" HEAD -- '*lockfiles/*.toml' > "$work/changed"
while IFS= read -r -d '' lock; do
  git show "$BASE:$lock" > "$work/old.toml"
  code=0
  "$envguard" diff "$work/old.toml" "$lock" --format markdown > "$work/body.md" || code=$?
  # 1 is a difference and 4 an unknown: both are what the comment is for.
  case "$code" in 0 | 1 | 4) ;; *) exit "$code" ;; esac
  marker="$(head -n 1 "$work/body.md")"
  known="$("$gh" api "repos/$REPOSITORY/issues/$NUMBER/comments" --paginate --jq '.[] | [.id, .body] | @tsv' \
    | awk -F '\t' -v marker="$marker" 'index($2, marker) == 1 { print $1; exit }')"
  if [ -n "$known" ]; then
    "$gh" api --method PATCH "repos/$REPOSITORY/issues/comments/$known" -F "body=@$work/body.md" > "$work/answer"
  else
    "$gh" api --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" -F "body=@$work/body.md" > "$work/answer"
  fi
done < "$work/changed"
