# SPDX-License-Identifier: Apache-2.0
# Sourced by setup.sh where the system is no Debian: whether what a Debian package brings is here, by the command, header or module of
# pkg-config that the build looks for.

has_command() { command -v "$1" >/dev/null; }
has_python() { has_command /usr/bin/python3 && /usr/bin/python3 -c "$1" 2>/dev/null; }

has_module() {
  local path=${PKG_CONFIG_PATH:-} folder folders
  IFS=':;' read -ra folders <<<"${CMAKE_PREFIX_PATH:-}"
  for folder in "${folders[@]}"; do path+=:$folder/lib/pkgconfig:$folder/lib64/pkgconfig:$folder/share/pkgconfig; done
  PKG_CONFIG_PATH=$path pkg-config --exists "$1" 2>/dev/null
}

has_header() {
  local arguments=() folder folders
  IFS=':;' read -ra folders <<<"${CMAKE_PREFIX_PATH:-}"
  for folder in "${folders[@]}"; do arguments+=("-I$folder/include"); done
  has_command "${CXX:-c++}" || return 1
  echo "#if !__has_include(<$1>)
#error
#endif" | "${CXX:-c++}" -std=c++20 "${arguments[@]}" "${@:2}" -E -x c++ - >/dev/null 2>&1
}

# is_present PACKAGE
is_present() {
  case $1 in
    g++) has_command "${CXX:-c++}" && has_command "${CC:-cc}" ;;
    ninja-build) has_command ninja ;;
    libfmt-dev) has_header fmt/format.h ;;
    libexpected-dev) has_header tl/expected.hpp ;;
    libcli11-dev) has_header CLI/CLI.hpp ;;
    nlohmann-json3-dev) has_header nlohmann/json.hpp ;;
    zlib1g-dev) has_header zlib.h ;;
    libdw-dev) has_module libdw ;;
    python3) has_command /usr/bin/python3 ;;
    python3-dev) has_python '' && has_header Python.h "-I$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')" ;;
    pybind11-dev)
      has_header pybind11/pybind11.h -I"$(/usr/bin/python3 -c 'import pybind11; print(pybind11.get_include())' 2>/dev/null || echo /usr/include)" ;;
    python3-pytest | python3-hypothesis | python3-numpy) has_python "import ${1#python3-}" ;;
    libsqlite3-dev) has_header sqlite3.h ;;
    libcpp-httplib-dev) has_module cpp-httplib ;;
    libgtest-dev) has_header gtest/gtest.h ;;
    libgmock-dev) has_header gmock/gmock.h ;;
    libbenchmark-dev) has_header benchmark/benchmark.h ;;
    libclang-rt-dev) has_command clang && [ -d "$(clang -print-runtime-dir)" ] ;;
    libgrpc++-dev) has_module grpc++ ;;
    libprotobuf-dev) has_module protobuf ;;
    protobuf-compiler) has_command protoc ;;
    protobuf-compiler-grpc) has_command grpc_cpp_plugin ;;
    libfabric-dev) has_module libfabric ;;
    libssl-dev) has_module libcrypto ;;
    iproute2) has_command ip ;;
    nodejs) has_command node ;;
    crossbuild-essential-arm64) has_command aarch64-linux-gnu-g++ ;;
    qemu-user-static) has_command qemu-aarch64-static ;;
    dpkg-dev) has_command dpkg-shlibdeps ;;
    rpm) has_command rpmbuild ;;
    *) has_command "$1" ;; # named like the command that it brings
  esac
}
