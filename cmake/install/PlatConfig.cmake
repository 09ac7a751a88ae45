# SPDX-License-Identifier: Apache-2.0
# find_package(Plat) gives
#   Plat::ascendcl       libascendcl.so and the headers under include/
#   Plat::mstx           libms_tools_ext.so, likewise
#   Plat::pool           libplat_pool.so, likewise
#   Plat_PREFIX          the install tree, for what wants ASCEND_HOME_PATH
include("${CMAKE_CURRENT_LIST_DIR}/PlatTargets.cmake")
get_filename_component(Plat_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
