# SPDX-License-Identifier: Apache-2.0
# What CPack makes: a tar.gz that can be unpacked anywhere, and an rpm for /usr/lib/plat. packaging/deb.sh makes the Debian packages.
set(CPACK_PACKAGE_NAME plat)
set(CPACK_PACKAGE_VENDOR "The Plat developers")
set(CPACK_PACKAGE_CONTACT "plat@example.org")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME plat-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr/lib/plat)
set(CPACK_RPM_PACKAGE_RELOCATABLE ON)
# Others must not be offered our libraries under the vendor's names, and we ask only for what the system has.
set(CPACK_RPM_PACKAGE_AUTOREQPROV "no")
set(CPACK_RPM_PACKAGE_REQUIRES "glibc, libgcc, libstdc++, elfutils-libs, zlib")
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
# The daemon needs what these do not ask for; it stays out of them whether it was built or not.
set(CPACK_INSTALL_CMAKE_PROJECTS "")
foreach(component inspector device python)
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS ${CMAKE_BINARY_DIR} ${PROJECT_NAME} ${component} /)
endforeach()
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/install/cpack.cmake)
include(CPack)
