// SPDX-License-Identifier: Apache-2.0
// The server itself, a library of its own: the command starts where cpp-httplib is not installed, and opens
// this one when somebody wants to look.
#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/live_server.h"
#include "os/process.h"

namespace plat::cli {

namespace {

constexpr auto kLastAnswer = std::chrono::seconds(10);  // how long the last of a program can be fetched

// Takes as long for a wrong token as for the right one.
bool is_same(const std::string& a, const std::string& b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

class HttpServer final : public LiveServer {
 public:
  HttpServer(Content content)
      : content_(std::move(content)),
        token_(fmt::format("{:016x}{:016x}", os::random_number(), os::random_number())) {}

  bool listen(int port, std::string& problem) {
    server_.set_default_headers(
        {{"Cache-Control", "no-store"},
         {"Referrer-Policy", "no-referrer"},
         {"X-Content-Type-Options", "nosniff"},
         {"Content-Security-Policy",
          "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"}});
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return admit(request, response);
    });
    server_.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(content_.page(token_), "text/html; charset=utf-8");
    });
    server_.Get("/data", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(content_.data(), "application/octet-stream");
    });
    // Called when the answer is written.
    server_.set_logger([this](const httplib::Request& request, const httplib::Response&) {
      {
        const std::lock_guard lock(mutex_);
        // One that was asked before the end may be answered after it, and is not the last.
        answered_ += ended_ && request.path == "/data" && request.has_param("last") ? 1 : 0;
      }
      changed_.notify_all();
    });
    server_.Get("/events",
                [this](const httplib::Request&, httplib::Response& response) { follow(response); });
    if (port == 0) {
      port_ = server_.bind_to_any_port("127.0.0.1");
    } else if (server_.bind_to_port("127.0.0.1", port)) {
      port_ = port;
    }
    if (port_ <= 0)
      return problem = fmt::format("cannot listen on 127.0.0.1{}", port == 0 ? "" : fmt::format(":{}", port)),
             false;
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return true;
  }

  ~HttpServer() override {
    stopping_ = true;
    changed_.notify_all();
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  std::string address() const override { return fmt::format("http://127.0.0.1:{}/?token={}", port_, token_); }

  void announce() override {
    const uint64_t much = content_.how_much();
    if (const std::lock_guard lock(mutex_); much == much_)
      return;
    else
      much_ = much;
    changed_.notify_all();
  }

  void end() override {
    announce();
    size_t wanted = 0;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      wanted = followers_;
    }
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    // Who followed asks once more.
    changed_.wait_for(lock, kLastAnswer, [&] { return answered_ >= wanted || stopping_; });
  }

 private:
  // The name in the address keeps other sites out, whose scripts can reach this machine by a name of their
  // own.
  httplib::Server::HandlerResponse admit(const httplib::Request& request, httplib::Response& response) {
    const std::string host = request.get_header_value("Host");
    const bool is_here =
        host == fmt::format("127.0.0.1:{}", port_) || host == fmt::format("localhost:{}", port_);
    if (is_here && is_same(request.get_param_value("token"), token_))
      return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    response.set_content(is_here ? "403: the token in the address is not that of this server\n"
                                 : "403: this server is 127.0.0.1\n",
                         "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  }

  // Server-sent events: "more" when there is, "end" after the last.
  void follow(httplib::Response& response) {
    {
      const std::lock_guard lock(mutex_);
      ++followers_;
    }
    auto told = std::make_shared<uint64_t>(0);
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, told](size_t, httplib::DataSink& sink) {
          std::unique_lock lock(mutex_);
          changed_.wait_for(lock, std::chrono::seconds(1),
                            [&] { return much_ != *told || ended_ || stopping_; });
          // A comment keeps the connection, and shows when nobody is there any more.
          std::string text =
              much_ != *told ? fmt::format("event: more\ndata: {}\n\n", much_) : ": still here\n\n";
          const bool is_last = ended_ || stopping_;
          *told = much_;
          lock.unlock();
          if (is_last) text += "event: end\ndata: ended\n\n";
          if (!sink.write(text.data(), text.size())) return false;
          if (is_last) sink.done();
          return true;
        },
        [this](bool) {
          {
            const std::lock_guard lock(mutex_);
            --followers_;
          }
          changed_.notify_all();
        });
  }

  Content content_;
  const std::string token_;
  int port_ = 0;
  httplib::Server server_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t much_ = 0;
  bool ended_ = false;
  size_t followers_ = 0;
  size_t answered_ = 0;  // last questions
  std::atomic<bool> stopping_{false};
};

}  // namespace

}  // namespace plat::cli

extern "C" [[gnu::visibility("default")]] plat::cli::LiveServer* plat_live_server(
    plat::cli::LiveServer::Content* content, int port, std::string* problem) {
  auto server = std::make_unique<plat::cli::HttpServer>(std::move(*content));
  return server->listen(port, *problem) ? server.release() : nullptr;
}
