#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/sanitize.sh [GPUS]: the kernels under compute-sanitizer (memcheck, then racecheck), on short messages; every
# rank is a thread of one process, so that one report is of all GPUs. Fails where there is something to report.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-.venv/bin/python}
command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer on PATH: it comes with the CUDA toolkit" >&2; exit 3; }
for tool in memcheck racecheck; do
    for sizes in '-b 3 -e 70000 -f 151 -d half' '-b 6M -e 6M' '-b 16M -e 16M -R 2'; do
        for collective in all_reduce reduce_scatter broadcast alltoall; do
            echo "$tool: $collective $sizes" >&2
            # shellcheck disable=SC2086  # several words on purpose
            timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$python" -P -m railgauge run "$collective" \
                --device cuda -g "${1:-2}" $sizes -n 1 -w 0 --timeout 100 >/dev/null
        done
    done
done
