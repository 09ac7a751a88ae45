// SPDX-License-Identifier: Apache-2.0
// The module plat._inspect: the recorder in this process, and its trace as JSON. Python makes objects of it.

#include <pybind11/pybind11.h>

#include "export.h"
#include "notes.h"
#include "trace_json.h"

namespace py = pybind11;

PYBIND11_MODULE(_inspect, module) {
  using namespace plat::inspect_python;
  using namespace py::literals;
  static NoteWriter writer;
  module.doc() = "The inspector, for the package plat.";
  module.def(
      "load",
      [](const std::string& path) {
        if (const std::string problem = NoteWriter::load(path); !problem.empty())
          throw py::import_error(problem);
      },
      "path"_a, "Loads the recorder, so that calls which bind later go through it.");
  module.def("is_loaded", &NoteWriter::is_loaded, "Whether calls that bind now go through a recorder.");
  module.def(
      "connect", [] { return writer.connect(); }, "Starts the trace of this process, with notes in it.");
  module.def(
      "begin", [](uint64_t number, const char* text) { return writer.begin(number, text); }, "number"_a,
      "text"_a, "A note; returns what ends it.");
  module.def(
      "end", [](uint64_t id) { writer.end(id); }, "id"_a, "Ends a note.");
  module.def(
      "trace_json",
      [](const std::string& trace, uint64_t window, bool leaks, bool unwritten, bool warnings, bool pedantic,
         const std::string& suppressions, bool objects) {
        Question question{trace, window, {}, suppressions, objects};
        question.options.leaks = leaks;
        question.options.unwritten = unwritten;
        question.options.warnings = warnings;
        question.options.pedantic = pedantic;
        question.options.ended = false;
        const py::gil_scoped_release release;
        return plat::inspect::to_line(trace_json(question));
      },
      "trace"_a, "window"_a, "leaks"_a, "unwritten"_a, "warnings"_a, "pedantic"_a, "suppressions"_a,
      "objects"_a, "What a trace shows, as JSON.");
  module.def(
      "export_trace",
      [](const std::string& trace, const std::string& format) {
        std::string made;
        {
          const py::gil_scoped_release release;
          made = export_trace(trace, format);
        }
        return py::bytes(made);
      },
      "trace"_a, "format"_a, "A trace as a file that other tools open: snapshot or perfetto.");
}
