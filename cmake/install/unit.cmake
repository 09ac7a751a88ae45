# SPDX-License-Identifier: Apache-2.0
# Run by the installation: the unit of the fabric daemon. systemd wants whole paths, so it names the place where the tree will lie,
# PLAT_HOME where a package is made for one, else the prefix.
set(home "$ENV{PLAT_HOME}")
if(NOT home)
  get_filename_component(home "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
endif()
# As an address, and as a quoted word; a % is systemd's own sign, so each is written twice.
string(REPLACE "%" "%25" address "${home}")
string(REPLACE " " "%20" address "${address}")
string(REPLACE "%" "%%" address "${address}")
string(REPLACE "\\" "\\\\" home "${home}")
string(REPLACE "\"" "\\\"" home "${home}")
string(REPLACE "%" "%%" home "${home}")
set(unit "${CMAKE_INSTALL_PREFIX}/share/systemd/user/plat-fabric@.service")
configure_file("${CMAKE_CURRENT_LIST_DIR}/plat-fabric@.service.in" "$ENV{DESTDIR}${unit}" @ONLY
               FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${unit}")
