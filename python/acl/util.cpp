// SPDX-License-Identifier: Apache-2.0
// Host memory as bytes, NumPy arrays and addresses. An address that the host cannot read is a ValueError, not
// a crash: device memory is one, unless PLAT_HOST_ACCESS=allow.

#include <pybind11/numpy.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

// The kernel reads a byte for us and says EFAULT where we would be killed.
class Prober {
 public:
  Prober() : file_(memfd_create("plat-prober", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("no file descriptor left to look at memory with");
  }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;
  ~Prober() { close(file_); }
  bool readable(uint64_t address) const {
    ssize_t written = 0;
    do written = pwrite(file_, to_c<const void*>(address), 1, 0);
    while (written < 0 && errno == EINTR);
    return written == 1;
  }

 private:
  int file_;
};

// Looks at every page: there may be a hole between two ends that are readable.
void want_readable(uint64_t address, uint64_t size) {
  if (size == 0) return;
  const uint64_t last = address + size - 1;
  const Prober prober;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  bool readable = last >= address && prober.readable(last);
  for (uint64_t at = address; readable; at = (at / page + 1) * page) {
    readable = prober.readable(at);
    if (at / page == last / page) break;
  }
  if (!readable)
    throw py::value_error("the host cannot read " + std::to_string(size) + " bytes at " +
                          std::to_string(address) + "; copy device memory to the host first");
}

// Bytes that are taken for objects of Python are followed, wherever they point.
void want_no_objects(const py::dtype& dtype) {
  if (dtype.attr("hasobject").cast<bool>())
    throw py::type_error(
        "an array of Python objects has nothing but addresses in it, and memory has none that are good");
}

py::bytes ptr_to_bytes(uint64_t address, uint64_t size) {
  if (size > static_cast<uint64_t>(std::numeric_limits<Py_ssize_t>::max()))
    throw py::value_error("size is too large");
  want_readable(address, size);
  return py::bytes(to_c<const char*>(address), size);
}

uint64_t bytes_to_ptr(const py::bytes& bytes) {
  return reinterpret_cast<uint64_t>(PyBytes_AS_STRING(bytes.ptr()));
}

// pyACL names types by NumPy's numbers; a dtype, or what makes one, does as well.
py::dtype dtype_of(const py::object& type) {
  if (PyIndex_Check(type.ptr()) == 0) return py::dtype::from_args(type);
  const auto number = static_cast<int>(integer(type, "dtype", 0, std::numeric_limits<int>::max()));
  auto& api = py::detail::npy_api::get();
  PyObject* const found = api.PyArray_DescrFromType_(number);
  if (found == nullptr) {
    PyErr_Clear();
    throw py::value_error("NumPy has no type of number " + std::to_string(number));
  }
  return py::reinterpret_steal<py::dtype>(found);
}

py::array ptr_to_numpy(uint64_t address, const py::tuple& shape, const py::object& type) {
  const py::dtype dtype = dtype_of(type);
  want_no_objects(dtype);
  uint64_t bytes = static_cast<uint64_t>(dtype.itemsize());
  std::vector<py::ssize_t> dimensions;
  for (const py::handle dimension : shape) {
    dimensions.push_back(integer(dimension, "a dimension", 0, std::numeric_limits<Py_ssize_t>::max()));
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dimensions.back()), &bytes))
      throw py::value_error("the array is too large");
  }
  want_readable(address, bytes);
  // The base makes it a view: the array does not own, and does not copy, what lies there.
  return py::array(dtype, dimensions, to_c<const void*>(address), py::none());
}

uint64_t numpy_to_ptr(const py::array& array) {
  want_no_objects(array.dtype());
  if ((array.flags() & py::array::c_style) == 0)
    throw py::value_error("the array is not contiguous; use numpy.ascontiguousarray and keep the result");
  return reinterpret_cast<uint64_t>(array.data());
}

}  // namespace

void add_util(Group& util) {
  util.def(
      "bytes_to_ptr", bytes_to_ptr, "data"_a,
      "The address of a bytes object's contents. Keep the object, and write to a copy: bytes never change.");
  util.def("ptr_to_bytes", ptr_to_bytes, "ptr"_a, "size"_a, "A copy of host memory as bytes.");
  util.def("numpy_to_ptr", numpy_to_ptr, "array"_a,
           "The address of a contiguous array's data. Keep the array while the address is used.");
  util.def(
      "ptr_to_numpy", ptr_to_numpy, "ptr"_a, "shape"_a, "dtype"_a,
      R"(A view of host memory as an array; dtype is NumPy's number of a type, or a dtype. Keep the memory while
the array is used.)");
}

}  // namespace plat::acl_python
