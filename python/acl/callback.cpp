// SPDX-License-Identifier: Apache-2.0
// Functions of Python that streams call: from a thread that serves callbacks, or from one of the library's.

#include <memory>
#include <string>

#include "groups.h"
#include "visit.h"

namespace plat::acl_python {

namespace {

// A function and what it is given, from the launch until it has run.
struct Work {
  py::object function;
  py::object data;
};

void run(void* argument) {
  const Visit visit;
  if (!visit.is_welcome()) return;
  const py::gil_scoped_acquire lock;
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  guarded(work->function, [&] { work->function(work->data); });
}

template <class Launch>
int launch(const py::function& function, const py::object& data, Launch&& call_c) {
  auto work = std::make_unique<Work>(Work{function, data});
  const int ret = unlocked([&] { return call_c(work.get()); });
  if (ret == ACL_SUCCESS) static_cast<void>(work.release());  // run() has it, or had it
  return ret;
}

int launch_callback(const py::function& function, const py::object& data, int32_t block, uint64_t stream) {
  return launch(function, data, [&](Work* work) {
    return aclrtLaunchCallback(run, work, static_cast<aclrtCallbackBlockType>(block),
                               to_c<aclrtStream>(stream));
  });
}

int launch_host_func(uint64_t stream, const py::function& function, const py::object& data) {
  return launch(function, data,
                [&](Work* work) { return aclrtLaunchHostFunc(to_c<aclrtStream>(stream), run, work); });
}

// Threads of start_thread, by their id, in a dict of the module's own.
py::tuple start_thread(const py::dict& threads, const py::function& function, const py::object& data) {
  const py::object thread = py::module_::import("threading")
                                .attr("Thread")("target"_a = function, "args"_a = py::make_tuple(data),
                                                "daemon"_a = true, "name"_a = "acl");
  thread.attr("start")();
  const py::object id = thread.attr("ident");
  threads[id] = thread;
  return py::make_tuple(id, static_cast<int>(ACL_SUCCESS));
}

int stop_thread(const py::dict& threads, uint64_t id) {
  const py::object thread = threads.attr("pop")(id, py::none());
  if (thread.is_none()) throw py::value_error("no thread of start_thread has the id " + std::to_string(id));
  thread.attr("join")();
  return ACL_SUCCESS;
}

}  // namespace

void add_callback(Group& rt) {
  const auto thread = "thread_id"_a, stream = "stream"_a;
  rt.def("launch_callback", launch_callback, "func"_a, "user_data"_a, "block_type"_a, stream,
         "Queues func(user_data), which the thread subscribed to the stream runs in process_report. With "
         "block_type 1 the stream waits for it. An exception in it is printed, not raised.");
  rt.def("subscribe_report", Ret<aclrtSubscribeReport>::call, thread, stream, Release(),
         "Names the thread, by threading.get_ident() or from acl.util.start_thread, that runs the stream's "
         "callbacks.");
  rt.def(
      "process_report", Ret<aclrtProcessReport>::call, "timeout"_a, Release(),
      "Runs the callbacks that are due for this thread, waiting so many milliseconds (-1: for ever) for the "
      "first.");
  rt.def("unsubscribe_report", Ret<aclrtUnSubscribeReport>::call, thread, stream, Release(),
         "Ends what subscribe_report began.");
  rt.def("launch_host_func", launch_host_func, stream, "func"_a, "args"_a,
         "Queues func(args), which a thread of the library runs; the stream waits for it. An exception in it "
         "is printed, not raised.");
  Visit::expect();
}

void add_threads(Group& util) {
  const py::dict threads;
  util.def(
      "start_thread",
      [threads](const py::function& function, const py::object& args) {
        return start_thread(threads, function, args);
      },
      "func"_a, "args"_a, "(thread_id, ret): a thread that runs func(args), to serve callbacks.");
  util.def(
      "stop_thread", [threads](uint64_t id) { return stop_thread(threads, id); }, "thread_id"_a,
      "Waits until the function of a thread of start_thread has returned.");
}

}  // namespace plat::acl_python
