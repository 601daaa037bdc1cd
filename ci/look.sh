#!/usr/bin/env bash
# Runs lint, verify or both with annotations; the step's exit code is the worst of them.
# In: COMMAND LOCK TARGET BASELINE ALLOW SARIF PAGE, all but COMMAND may be empty. ENVGUARD names the program.
set -euo pipefail
envguard="${ENVGUARD:-${RUNNER_TEMP:-}/envguard/bin/envguard}"

lint=(lint) verify=(verify)
[ -z "${LOCK:-}" ] || { lint+=("$LOCK"); verify+=("$LOCK"); }
[ -z "${BASELINE:-}" ] || { lint+=(--baseline "$BASELINE"); verify+=(--baseline "$BASELINE"); }
[ -z "${TARGET:-}" ] || verify+=(--python "$TARGET")
[ -z "${ALLOW:-}" ] || verify+=(--allow-unknown "$ALLOW")
page=()
[ -z "${PAGE:-}" ] || page=(--html "$PAGE")

worst=0
look() {
  local code=0
  "$envguard" "$@" --format github || code=$?
  [ "$code" -eq 0 ] || [ "$worst" -ne 0 ] || worst=$code
}

case "${COMMAND:-lint}" in
  lint) look "${lint[@]}" ;;
  verify) look "${verify[@]}" "${page[@]}" ;;
  both) look "${lint[@]}"; look "${verify[@]}" "${page[@]}" ;;
  *) echo "::error::command must be lint, verify or both, not $COMMAND"; exit 2 ;;
esac
if [ -n "${SARIF:-}" ]; then
  # The last command's; the findings were counted above.
  if [ "${COMMAND:-lint}" = lint ]; then
    "$envguard" "${lint[@]}" --format sarif > "$SARIF" || true
  else
    "$envguard" "${verify[@]}" --format sarif > "$SARIF" || true
  fi
fi
exit "$worst"
