// SPDX-License-Identifier: Apache-2.0
// The module mstx: marks, ranges, domains and tools. Calls run without the interpreter's lock.

#include "values.h"

namespace plat::mstx_python {
namespace {

void mark(const Text& message, std::optional<uint64_t> stream, const Domain* domain) {
  if (domain == nullptr)
    mstxMarkA(text_of(message), stream_of(stream));
  else
    mstxDomainMarkA(domain->handle, text_of(message), stream_of(stream));
}

uint64_t range_start(const Text& message, std::optional<uint64_t> stream, const Domain* domain) {
  return domain == nullptr ? mstxRangeStartA(text_of(message), stream_of(stream))
                           : mstxDomainRangeStartA(domain->handle, text_of(message), stream_of(stream));
}

void range_end(uint64_t id, const Domain* domain) {
  if (domain == nullptr)
    mstxRangeEnd(id);
  else
    mstxDomainRangeEnd(domain->handle, id);
}

// with mstx.range("step"): ...
struct Range {
  Text message;
  std::optional<uint64_t> stream;
  py::object domain;
  uint64_t id = 0;

  const Domain* domain_or_null() const { return domain.is_none() ? nullptr : domain.cast<const Domain*>(); }
  uint64_t enter() {
    const Domain* inside = domain_or_null();
    py::gil_scoped_release release;
    return id = range_start(message, stream, inside);
  }
  void leave() {
    const Domain* inside = domain_or_null();
    py::gil_scoped_release release;
    range_end(id, inside);
    id = 0;
  }
};

void add_ranges(py::module_& module) {
  const auto message = py::arg("message");
  const auto stream = py::arg("stream") = py::none();
  const auto domain = py::arg("domain") = py::none();
  module.def("mark", mark, message, stream, domain, Release(),
             "Marks a moment, with a stream also on the device.");
  module.def("range_start", range_start, message, stream, domain, Release(),
             "Opens a range and returns its id; 0 if nobody listens.");
  module.def("range_end", range_end, py::arg("range_id"), domain, Release(), "Closes a range.");
  py::class_<Range>(module, "range", "A range around a block of code.")
      .def(py::init([](Text text, std::optional<uint64_t> on, py::object in) -> Range {
             text_of(text);
             if (!in.is_none() && !py::isinstance<Domain>(in))
               throw py::type_error("domain must be an mstx.Domain");
             return {std::move(text), on, std::move(in)};
           }),
           message, stream, domain)
      .def("__enter__", &Range::enter)
      .def("__exit__", [](Range& range, const py::args&) { range.leave(); });
}

void add_domains(py::module_& module) {
  py::class_<Domain>(module, "Domain",
                     "A namespace for marks, ranges and memory. The same name is the same domain.")
      .def(py::init([](const Text& name) {
             text_of(name);
             py::gil_scoped_release release;
             return Domain{name.value, mstxDomainCreateA(text_of(name))};
           }),
           py::arg("name"))
      .def_readonly("name", &Domain::name)
      .def_property_readonly("handle", [](const Domain& domain) { return number(domain.handle); })
      .def(
          "destroy",
          [](Domain& domain) {
            if (domain.handle != nullptr) mstxDomainDestroy(domain.handle);
            domain.handle = nullptr;
          },
          Release(), "Gives the domain up; from then on it is the one that everybody shares.")
      .def("__repr__", [](const Domain& domain) { return "mstx.Domain('" + domain.name + "')"; });
}

void add_tools(py::module_& module) {
  module.def(
      "get_tool_id",
      [] {
        uint64_t id = MSTX_TOOL_INVALID_ID;
        mstxGetToolId(&id);
        return id;
      },
      Release(), "Which tool listens; 0 if none does or it does not say.");
  module.attr("TOOL_INVALID_ID") = MSTX_TOOL_INVALID_ID;
  module.attr("TOOL_MSPROF_ID") = MSTX_TOOL_MSPROF_ID;
  module.attr("TOOL_MSOPPROF_ID") = MSTX_TOOL_MSOPPROF_ID;
  module.attr("TOOL_MSSANITIZER_ID") = MSTX_TOOL_MSSANITIZER_ID;
  module.attr("TOOL_MSLEAKS_ID") = MSTX_TOOL_MSLEAKS_ID;

  module.def(
      "attach",
      [](const Text& path) {
        platMstxToolId_t id = 0;
        int result = PLAT_MSTX_OK;
        {
          py::gil_scoped_release release;
          result = platMstxAttach(text_of(path), &id);
        }
        check(result);
        return id;
      },
      py::arg("path"), "Loads a tool and lets it in, now. Returns its id.");
  module.def(
      "detach",
      [](platMstxToolId_t id) {
        int result = PLAT_MSTX_OK;
        {
          py::gil_scoped_release release;
          result = platMstxDetach(id);
        }
        check(result);
      },
      py::arg("tool"), "Lets a tool go.");
  module.def("tools", [] {
    platMstxToolInfo_t tools[PLAT_MSTX_TOOLS_MAX] = {};
    for (auto& tool : tools) tool.structSize = sizeof(tool);
    uint32_t count = 0;
    {
      py::gil_scoped_release release;
      platMstxListTools(tools, PLAT_MSTX_TOOLS_MAX, &count);
    }
    py::list list;
    for (uint32_t i = 0; i < count; ++i)
      list.append(py::make_tuple(tools[i].id, tools[i].name, tools[i].toolId));
    return list;
  });
  module.def(
      "remember", [](bool on) { platMstxRemember(on ? 1 : 0); }, py::arg("on"), Release(),
      "Whether what lives is remembered for tools that come later.");
}

}  // namespace

void check(int result) {
  switch (result) {
    case PLAT_MSTX_OK:
      return;
    case PLAT_MSTX_INVALID:
      throw py::value_error("it names nothing that lives");
    case PLAT_MSTX_NO_LISTENER:
      return;  // as everywhere in mstx, nobody there is no mistake
    case PLAT_MSTX_CANNOT_LOAD:
      throw std::runtime_error("the tool does not load");
    case PLAT_MSTX_NO_SYMBOL:
      throw std::runtime_error("the library has no InitInjectionMstx");
    case PLAT_MSTX_TOOL_REFUSED:
      throw std::runtime_error("the tool refused to start");
    case PLAT_MSTX_ATTACHED:
      throw std::runtime_error("the tool is attached already");
    case PLAT_MSTX_TOO_MANY:
      throw std::runtime_error("too many tools are attached");
    case PLAT_MSTX_BUSY:
      throw std::runtime_error("called from inside a tool");
    default:
      throw std::bad_alloc();
  }
}

}  // namespace plat::mstx_python

PYBIND11_MODULE(mstx, module) {
  using namespace plat::mstx_python;
  module.doc() = "Tell tools what a program does: marks, ranges, domains, and the memory of pools.";
  add_domains(module);
  add_ranges(module);
  add_tools(module);
  add_memory(module);
}
