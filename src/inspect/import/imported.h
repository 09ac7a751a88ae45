// SPDX-License-Identifier: Apache-2.0
// What another tool has recorded: pieces of memory that come and go, with the stacks that it names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace plat::inspect {

// Who has a piece: taken from the device, handed out by a pool that divides what it took, or of the host.
enum class Held : uint8_t { Taken, Handed, Host };

struct ImportedLife {
  Held held{};
  int32_t device = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t stream = 0;
  std::string pool;   // who handed it out
  std::string owner;  // what that calls it
};

struct ImportedStep {
  enum What : uint8_t { Birth, Death, Mark } what{};
  uint32_t life = 0;  // of a mark: its text
  uint64_t time_ns = 0;
  uint32_t thread = 0;
  uint32_t stack = 0;  // 0: none
};

struct ImportedFrame {
  std::string function;
  std::string file;
  uint32_t line = 0;
  bool operator<(const ImportedFrame& other) const {
    return std::tie(function, file, line) < std::tie(other.function, other.file, other.line);
  }
};

struct Imported {
  uint32_t pid = 0;
  std::vector<ImportedLife> lives;
  std::vector<ImportedStep> steps;  // in the order in which they happened
  std::vector<std::string> marks;
  std::vector<ImportedFrame> frames;
  std::vector<std::vector<uint32_t>> stacks;  // of frames, innermost first; the first is empty
  bool divides_all = false;                   // whatever was taken was taken by the pool
};

// Puts a recording together. Who frees what was never allocated has had it from the start.
class Importer {
 public:
  struct When {
    uint64_t time_ns = 0;
    uint32_t thread = 0;
    uint32_t stack = 0;
  };

  uint32_t stack_of(const std::vector<ImportedFrame>& frames);
  // A second one at the same place is left out, as other readers do.
  void allocate(const ImportedLife& life, const When& when);
  void release(const ImportedLife& life, const When& when);
  void mark(std::string text, const When& when);
  // nothing, with the reason, if there is no memory in it.
  std::optional<Imported> finish(std::string& why);

  Imported& result() { return result_; }

 private:
  using Key = std::tuple<Held, std::string, int32_t, uint64_t>;
  static Key key_of(const ImportedLife& life) {
    return {life.held, life.held == Held::Handed ? life.pool : "", life.device, life.address};
  }
  uint32_t add(const ImportedLife& life);

  Imported result_;
  std::map<Key, uint32_t> live_;
  std::vector<uint32_t> from_the_start_;
  std::map<ImportedFrame, uint32_t> frames_;
  std::map<std::vector<uint32_t>, uint32_t> stacks_;
  bool too_large_ = false;
};

// By its first bytes: a database of memscope, or a PyTorch snapshot (a pickle, or JSON).
bool is_importable(const std::string& content);
// nothing, with the reason, if it cannot be read whole.
std::optional<Imported> read_import(const std::string& content, std::string& why);

// One for each form.
std::optional<Imported> import_snapshot(const std::string& content, std::string& why);
std::optional<Imported> import_memscope(const std::string& content, std::string& why);

// The same as a trace of plat record, which every command reads.
std::string to_trace(const Imported& imported, const std::string& program);

}  // namespace plat::inspect
