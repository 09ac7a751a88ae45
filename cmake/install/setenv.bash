# SPDX-License-Identifier: Apache-2.0
# What the run scripts of samples source: $ASCEND_HOME_PATH/bin/setenv.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/../set_env.sh"
