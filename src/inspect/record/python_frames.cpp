// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/python_frames.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "inspect/record/hook.h"
#include "inspect/trace/format.h"

// The program's memory: no sanitizer has an opinion on it.
#define PLAT_READS_PYTHON __attribute__((no_sanitize("address", "thread", "undefined")))

namespace plat::inspect {

namespace {

// Where things lie in the objects of one version; they stay there within it. 64 bits alone.
struct Layout {
  int minor;
  size_t of_thread;              // the frame, or what has it
  int of_holder;                 // the frame in that; -1: there is no holder
  size_t code;                   // of a frame
  size_t back;                   // of a frame
  size_t instruction;            // of a frame: a pointer to it, or its index if code_bytes is 0
  size_t code_bytes;             // of a code object
  size_t first_line;             // of a code object
  size_t lines;                  // of a code object: the table of lines
  size_t file, name;             // of a code object
  size_t text_ascii, text_wide;  // the characters of a text
};
constexpr Layout kLayouts[] = {
    {10, 24, -1, 32, 24, 96, 0, 40, 120, 104, 112, 48, 72},
    {11, 56, 8, 32, 48, 56, 184, 72, 136, 112, 128, 48, 72},
    {12, 56, 0, 0, 8, 56, 192, 68, 136, 112, 128, 40, 56},
    {13, 72, -1, 0, 8, 56, 200, 68, 136, 112, 128, 40, 56},
};
constexpr size_t kTypeOfObject = 8, kLengthOfText = 16, kStateOfText = 32, kDataOfBytes = 32;
constexpr int kUnit = 2;  // bytes of an instruction

struct Interpreter {
  const Layout* layout = nullptr;
  const void* (*thread_state)() = nullptr;
  int (*line_of)(const void* code, int offset) = nullptr;
  const void* code_type = nullptr;
  const void* text_type = nullptr;
  const void* bytes_type = nullptr;
};
Interpreter g_python;

template <class T>
PLAT_READS_PYTHON T read(const void* object, size_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(object) + offset);
}
PLAT_READS_PYTHON const void* follow(const void* object, size_t offset) {
  return read<const void*>(object, offset);
}

// Characters of 1, 2 or 4 bytes.
struct Text {
  const char* data = nullptr;
  size_t length = 0;
  unsigned width = 0;
};

PLAT_READS_PYTHON Text text_of(const void* object) {
  if (object == nullptr || follow(object, kTypeOfObject) != g_python.text_type) return {};
  const auto state = read<uint32_t>(object, kStateOfText);
  const unsigned width = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0, is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || width == 0) return {};
  const size_t start = is_ascii ? g_python.layout->text_ascii : g_python.layout->text_wide;
  return {static_cast<const char*>(object) + start, read<size_t>(object, kLengthOfText), width};
}

struct [[gnu::packed]] Word {  // wherever it lies
  uint64_t value;
};

PLAT_READS_PYTHON uint64_t mix(uint64_t hash, const Text& text) {
  const size_t bytes = text.length * text.width;
  const auto add = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) add(read<Word>(text.data, at).value);
  for (; at < bytes; ++at) add(static_cast<uint8_t>(text.data[at]));
  return (hash ^ bytes) * 0x9e3779b97f4a7c15u;
}

// In UTF-8; line breaks are blanks.
PLAT_READS_PYTHON size_t put(const Text& text, char* out, size_t room) {
  size_t size = 0;
  for (size_t i = 0; i < text.length; ++i) {
    uint32_t c = text.width == 1   ? static_cast<uint8_t>(text.data[i])
                 : text.width == 2 ? read<uint16_t>(text.data, 2 * i)
                                   : read<uint32_t>(text.data, 4 * i);
    if (c == '\n') c = ' ';
    if (c >= 0xd800 && c < 0xe000) c = 0xfffd;  // a byte that was no UTF-8 when it was read
    const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (size + bytes > room) break;
    for (size_t k = bytes; k-- > 1; c >>= 6) out[size + k] = static_cast<char>(0x80 | (c & 0x3f));
    out[size] = static_cast<char>(bytes == 1 ? c : (0xf0u << (4 - bytes)) | c);
    size += bytes;
  }
  return size;
}

// Lines that were looked up, by a number for the instruction and its whole table of lines: code comes and
// goes, and another may lie at the same place. Upper bits of the number, then the line.
constexpr size_t kLinesCount = 4096;
constexpr uint64_t kLineMax = (uint64_t{1} << 24) - 1;
std::atomic<uint64_t> g_lines[kLinesCount];

PLAT_READS_PYTHON int line_in(const void* frame, const void* code) {
  const Layout& layout = *g_python.layout;
  const int at = layout.code_bytes == 0
                     ? read<int>(frame, layout.instruction) * kUnit
                     : static_cast<int>(read<const char*>(frame, layout.instruction) -
                                        (static_cast<const char*>(code) + layout.code_bytes));
  const void* const table = follow(code, layout.lines);
  if (table == nullptr || follow(table, kTypeOfObject) != g_python.bytes_type)
    return g_python.line_of(code, at);
  const auto first = read<uint32_t>(code, layout.first_line);
  const Text bytes{static_cast<const char*>(table) + kDataOfBytes, read<size_t>(table, kLengthOfText), 1};
  const uint64_t number = mix(uint64_t{first} << 32 | static_cast<uint32_t>(at), bytes);
  std::atomic<uint64_t>& known = g_lines[number % kLinesCount];
  const uint64_t there = known.load(std::memory_order_relaxed);
  if (there != 0 && (there & ~kLineMax) == (number & ~kLineMax)) return static_cast<int>(there & kLineMax);
  const int line = g_python.line_of(code, at);
  if (line > 0 && static_cast<uint64_t>(line) <= kLineMax)
    known.store((number & ~kLineMax) | static_cast<uint64_t>(line), std::memory_order_relaxed);
  return line;
}

template <class Function>
bool find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(look_up(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

void find_python() {
  if (g_python.layout != nullptr || sizeof(void*) != 8) return;
  Interpreter python;
  const char* (*version)() = nullptr;
  if (!find("Py_GetVersion", version) || !find("PyGILState_GetThisThreadState", python.thread_state) ||
      !find("PyCode_Addr2Line", python.line_of) || !find("PyCode_Type", python.code_type) ||
      !find("PyUnicode_Type", python.text_type) || !find("PyBytes_Type", python.bytes_type))
    return;
  int minor = 0;
  const char* const text = version();
  // Without the interpreter's lock objects look different.
  if (std::sscanf(text, "3.%d.", &minor) != 1 || std::strstr(text, "free-threading") != nullptr) return;
  for (const Layout& layout : kLayouts)
    if (layout.minor == minor) python.layout = &layout;
  g_python = python;
}

PLAT_READS_PYTHON uint32_t take_python_frames(PythonFrame* frames, uint32_t room) {
  const Layout* const layout = g_python.layout;
  if (layout == nullptr) return 0;
  const void* const thread = g_python.thread_state();
  if (thread == nullptr) return 0;
  const void* frame = follow(thread, layout->of_thread);
  if (frame != nullptr && layout->of_holder >= 0)
    frame = follow(frame, static_cast<size_t>(layout->of_holder));
  uint32_t count = 0;
  for (; frame != nullptr && count < room; frame = follow(frame, layout->back)) {
    const void* const code = follow(frame, layout->code);
    // The interpreter's own entry into Python has no code.
    if (code == nullptr || follow(code, kTypeOfObject) != g_python.code_type) continue;
    const int line = line_in(frame, code);
    uint64_t hash = mix(static_cast<uint64_t>(line) + 1, text_of(follow(code, layout->file)));
    hash = mix(hash, text_of(follow(code, layout->name)));
    frames[count++] = {hash | kPythonFrames, code, line};
  }
  return count;
}

size_t name_python_frame(const PythonFrame& frame, char* text, size_t room) {
  const Layout& layout = *g_python.layout;
  size_t size = put(text_of(follow(frame.code, layout.name)), text, room);
  if (size < room) text[size++] = '\n';
  return size + put(text_of(follow(frame.code, layout.file)), text + size, room - size);
}

}  // namespace plat::inspect
