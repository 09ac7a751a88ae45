# SPDX-License-Identifier: Apache-2.0
# What names its own place names that of the rpm, also in the archive.
set(ENV{PLAT_HOME} ${CPACK_PACKAGING_INSTALL_PREFIX})
# Read once for each kind of package: an archive has the tree itself at its top.
if(CPACK_GENERATOR STREQUAL TGZ)
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
