// SPDX-License-Identifier: Apache-2.0
// The frames of Python code below a call, where the program is run by CPython.
//
// Most modules let go of the interpreter's lock before they call the device, and then none of the functions
// that hand out frames may be called: they count references and make objects. So the frames are read where
// they lie. They are the calling thread's own, which is here and changes none of them, and what they name
// lives as long as they do. Nothing is counted, locked or made.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plat::inspect {

struct PythonFrame {
  uint64_t address;  // that no code can have: a number for the function, its file and the line
  const void* code;
  int line;
};

// Looks for the interpreter in the process.
void find_python();

// The frames of the calling thread, innermost first. 0: it runs no Python, or one that is not known.
uint32_t take_python_frames(PythonFrame* frames, uint32_t room);

// "function\nfile" of a frame that was just taken; the length.
size_t name_python_frame(const PythonFrame& frame, char* text, size_t room);

}  // namespace plat::inspect
