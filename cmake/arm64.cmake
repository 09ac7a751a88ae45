# SPDX-License-Identifier: Apache-2.0
# Builds for aarch64 on another kind of machine, over the Debian root that scripts/arm64-root.sh makes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root ABSOLUTE)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})

# Runs what was built, for what is made from what it says.
find_program(PLAT_EMULATOR qemu-aarch64-static)
if(PLAT_EMULATOR)
  set(PLAT_RUN_HERE ${PLAT_EMULATOR} -L ${CMAKE_SYSROOT})
endif()

# The modules are for the Python of that root, which cannot be asked here.
file(GLOB Python_INCLUDE_DIR ${CMAKE_SYSROOT}/usr/include/python3.*)
string(REGEX REPLACE ".*/python3\\.([0-9]+)$" ".cpython-3\\1-aarch64-linux-gnu.so" PYTHON_MODULE_EXTENSION "${Python_INCLUDE_DIR}")
