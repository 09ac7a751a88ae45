// SPDX-License-Identifier: Apache-2.0
// A recorder that comes and goes while a program runs, and askers that are killed at any moment. The program
// must not notice: its memory holds what it wrote, its calls go on, and it ends well. Who asks next is always
// served, whatever became of those before, and every trace that was begun can be read.
//   soak_attach --seed N --seconds S
#include <acl/acl.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "os/patience.h"
#include "soak/campaign.h"
#include "support/mstx_words.h"

namespace plat::soak {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPatienceSeconds = 120;  // far more than anything here takes on a machine under load

// Seen by both processes.
struct Shared {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<bool> stop{false};
};

// A pool in a block of the device that tells mstx what it hands out, and keeps a tag in each piece.
void use_memory(Shared& shared, uint64_t seed) {
  std::mt19937_64 random(seed);
  (void)aclrtSetDevice(0);
  constexpr size_t kPieces = 8, kPieceBytes = 512;
  void* block = nullptr;
  if (aclrtMalloc(&block, kPieces * kPieceBytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0) return void(++shared.wrong);
  char* const memory = static_cast<char*>(block);
  const mstxDomainHandle_t domain = mstxDomainCreateA("soak");
  const mstxMemHeapHandle_t heap = mstx_words::heap(memory, kPieces * kPieceBytes, domain);
  struct Piece {
    mstxMemRegionHandle_t region = nullptr;
    uint64_t tag = 0;
    bool is_taken = false;
  };
  std::vector<Piece> pieces(kPieces);
  while (!shared.stop) {
    const size_t number = random() % kPieces;
    Piece& piece = pieces[number];
    char* const start = memory + number * kPieceBytes;
    if (piece.is_taken) {
      uint64_t seen = 0;
      if (aclrtMemcpy(&seen, 8, start, 8, ACL_MEMCPY_DEVICE_TO_HOST) != 0 || seen != piece.tag)
        ++shared.wrong;
      mstx_words::unregister(mstx_words::by_handle(piece.region), domain);
    } else {
      piece.tag = random();
      piece.region = mstx_words::region(heap, start, kPieceBytes, domain);
      if (aclrtMemcpy(start, 8, &piece.tag, 8, ACL_MEMCPY_HOST_TO_DEVICE) != 0) ++shared.wrong;
    }
    piece.is_taken = !piece.is_taken;
    if (random() % 16 == 0) mstxDomainMarkA(domain, "step", nullptr);
    shared.calls += 2;
  }
  for (Piece& piece : pieces)
    if (piece.is_taken) mstx_words::unregister(mstx_words::by_handle(piece.region), domain);
  mstxMemHeapUnregister(domain, heap);
  if (aclrtFree(memory) != 0) ++shared.wrong;
}

int program(Shared& shared, uint64_t seed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("PLAT_MSTX_REMEMBER", seed % 2 == 0 ? "1" : "0", 1);
  if (aclInit(nullptr) != 0) return 10;
  std::thread other([&] { use_memory(shared, seed * 2); });
  use_memory(shared, seed * 2 + 1);
  other.join();
  return aclFinalize() == 0 ? 0 : 11;
}

class Play {
 public:
  explicit Play(Campaign& campaign)
      : campaign_(campaign),
        random_(campaign.seed()),
        shared_(*new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                           0)) Shared) {
    if (mkdtemp(directory_) == nullptr) abort();
    setenv("TMPDIR", directory_, 1);
  }
  ~Play() { std::filesystem::remove_all(directory_); }
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  void run() {
    while (campaign_.time_left() && campaign_.is_clean()) {
      start_program();
      const auto rounds = 1 + below(8);
      for (unsigned round = 0; round < rounds && campaign_.is_clean(); ++round) ask();
      end_program();
      look_at_files();
    }
  }

 private:
  unsigned below(uint64_t bound) { return static_cast<unsigned>(random_() % bound); }

  static uint64_t now_ns() { return static_cast<uint64_t>(Clock::now().time_since_epoch().count()); }

  static bool wait_until(const auto& condition) {
    os::Patience patience(kPatienceSeconds * uint64_t{1'000'000'000}, now_ns());
    while (!condition()) {
      if (patience.is_over(now_ns())) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  bool goes_on() {
    const uint64_t before = shared_.calls;
    return wait_until([&] { return shared_.calls > before + 100; });
  }

  void start_program() {
    shared_.stop = false;
    const uint64_t seed = random_();
    fflush(nullptr);
    program_ = fork();
    if (program_ == 0) _exit(program(shared_, seed));
    if (!goes_on()) campaign_.violation("the program does not begin");
  }

  // Ends by itself, or by force: then what it was asked for ends with it.
  void end_program() {
    const bool by_force = below(4) == 0;
    by_force ? void(kill(program_, SIGKILL)) : void(shared_.stop = true);
    campaign_.kills += by_force;
    int status = -1;
    if (!wait_until([&] { return waitpid(program_, &status, WNOHANG) == program_; }))
      return campaign_.violation("the program does not end"), void(kill(program_, SIGKILL));
    if (!by_force && status != 0)
      campaign_.violation(fmt::format("the program ended with status {:#x}", status));
    if (shared_.wrong != 0)
      campaign_.violation(fmt::format("{} things were wrong in the program", shared_.wrong.load()));
    campaign_.calls += shared_.calls - counted_;
    counted_ = shared_.calls;
  }

  // One that asks: served, and then ended at some moment by some signal, unless it ends by itself.
  void ask() {
    const std::string trace = fmt::format("{}/{}", directory_, ++asked_);
    const std::string pid = std::to_string(program_);
    const bool is_top = below(3) == 0;
    const bool is_served = below(2) == 0;  // else the signal comes at any moment
    std::vector<std::string> words = {PLAT_COMMAND, is_top ? "top" : "record",       "--pid", pid,
                                      "--wait",     std::to_string(kPatienceSeconds)};
    if (is_top)
      words.insert(words.end(), {"--json", "--interval", "0.05"});
    else
      words.insert(words.end(), {"--stacks", below(2) == 0 ? "none" : "fp", "-o", trace});
    int output = -1;
    const pid_t asker = start(words, output);
    std::string said;
    const bool answered = is_served ? read_line(output, said) : true;
    if (!is_served) std::this_thread::sleep_for(std::chrono::microseconds(below(200'000)));
    const bool is_right = is_top ? said.starts_with("{") : said.find("recording") != std::string::npos;
    if (answered && is_served && !is_right)
      campaign_.violation(fmt::format("plat {} says: {}", words[1], said));
    if (!answered) campaign_.violation(fmt::format("plat {} says nothing", words[1]));
    std::this_thread::sleep_for(std::chrono::microseconds(below(20'000)));
    const int how = below(2) == 0 ? SIGKILL : SIGINT;
    campaign_.kills += how == SIGKILL;
    int status = -1;
    auto next_signal = Clock::now();
    // Nobody reads what it writes, so that one signal may not be enough.
    if (!wait_until([&] {
          if (Clock::now() >= next_signal) {
            kill(asker, how);
            next_signal = Clock::now() + std::chrono::seconds(2);
          }
          return waitpid(asker, &status, WNOHANG) == asker;
        }))
      return campaign_.violation(fmt::format("plat {} does not end", words[1])), void(kill(asker, SIGKILL));
    close(output);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && WTERMSIG(status) != SIGINT)
      campaign_.violation(fmt::format("plat {} ended with status {:#x}", words[1], status));
    if (!goes_on()) campaign_.violation("the program does not go on");
    ++campaign_.rounds;
  }

  static pid_t start(const std::vector<std::string>& words, int& output) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      signal(SIGINT,
             SIG_DFL);  // ignored where a shell started the campaign in the background, and so by plat
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    output = ends[0];
    return pid;
  }

  // What is there of the first line; false when it takes too long.
  static bool read_line(int fd, std::string& line) {
    char buffer[512];
    while (line.find('\n') == std::string::npos) {
      pollfd input{fd, POLLIN, 0};
      if (poll(&input, 1, kPatienceSeconds * 1000) <= 0) return false;
      const ssize_t got = read(fd, buffer, sizeof buffer);
      if (got <= 0) return !line.empty();
      line.append(buffer, static_cast<size_t>(got));
    }
    return true;
  }

  // The traces that were begun; nothing else stays.
  void look_at_files() {
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      const std::string path = entry.path().string();
      if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos)
        campaign_.violation(fmt::format("{} was left behind", path));
      int output = -1;
      const pid_t reader = start({PLAT_COMMAND, "report", path}, output);
      std::string said;
      (void)read_line(output, said);
      char rest[4096];
      while (read(output, rest, sizeof rest) > 0) {
      }
      close(output);
      int status = -1;
      waitpid(reader, &status, 0);
      // A trace that was asked for and not begun is an empty file.
      if (status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 2 && entry.file_size() == 0))
        campaign_.violation(fmt::format("plat report {} ended with status {:#x}: {}", path, status, said));
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      std::filesystem::remove_all(entry.path());
  }

  Campaign& campaign_;
  std::mt19937_64 random_;
  Shared& shared_;
  pid_t program_ = 0;
  unsigned asked_ = 0;
  uint64_t counted_ = 0;
  char directory_[24] = "/tmp/plat-soak-XXXXXX";
};

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("attach", argc, argv);
  campaign.use_machine("32MiB", "1");
  plat::soak::Play(campaign).run();
  return campaign.finish();
}
