#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh [FOLDER...]: clang-tidy over the sources of src/FOLDER, or over all of them, after a look at their headers, each alone.
set -euo pipefail
cd "$(dirname "$0")/.."
# In the batches of the build: a dozen files are read as fast as one of them alone. What is found in a file that a batch includes counts, as
# what is found in a header does.
cmake --fresh -S . -B build/tidy -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DPLAT_UNITY=ON -DPLAT_PRECOMPILE=OFF \
  -DPLAT_FABRIC=ON -DPLAT_EXAMPLES=OFF >/dev/null
ninja -C build/tidy src/rules/test_texts.cpp src/fabricd/fabric.pb.h >/dev/null
scripts/headers.sh "$@"
# A batch includes sources on purpose.
find build/tidy -path '*/Unity/unity_*' -exec sed -i 's|^#include "[^"]*"$|& // NOLINT(bugprone-suspicious-include)|' {} +
pattern=$([ $# -gt 0 ] && (IFS='|'; echo "($*)") || echo '[a-z]+')
made='(plat_fabric_proto|acl_rt|acl_dvpp)\.dir' # nobody wrote these
run-clang-tidy -quiet -p build/tidy -j "$(nproc)" "^(?!.*/$made/).*/src/$pattern/.*\.(c|cpp|cxx)$" 2>/dev/null
