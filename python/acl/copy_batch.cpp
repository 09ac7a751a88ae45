// SPDX-License-Identifier: Apache-2.0
// Many copies in one call.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

using Numbers = std::vector<uint64_t>;

// The arrays of a batch. Each list has one entry a copy; attrs[k] applies from entry attrs_indexes[k].
class Batch {
 public:
  Batch(const Numbers& targets, Numbers limits, const Numbers& sources, Numbers sizes, const py::list& attrs,
        Numbers indexes)
      : limits_(std::move(limits)), sizes_(std::move(sizes)), indexes_(std::move(indexes)) {
    if (limits_.size() != targets.size() || sources.size() != targets.size() ||
        sizes_.size() != targets.size())
      throw py::value_error("dsts, dest_maxs, srcs and sizes differ in length");
    if (static_cast<size_t>(py::len(attrs)) != indexes_.size())
      throw py::value_error("attrs and attrs_indexes differ in length");
    for (const uint64_t target : targets) targets_.push_back(to_c<void*>(target));
    for (const uint64_t source : sources) sources_.push_back(to_c<void*>(source));
    for (const py::handle attr : attrs) {
      if (!py::isinstance<py::dict>(attr)) throw py::type_error("an entry of attrs must be a dict");
      const auto dict = py::reinterpret_borrow<py::dict>(attr);
      attrs_.push_back(
          {location_of(dict_field(dict, "dstLoc")), location_of(dict_field(dict, "srcLoc")), {}});
    }
  }

  // The calls end in different arguments.
  template <class Call, class... Rest>
  int run(Call&& call, Rest... rest) {
    return unlocked([&] {
      return call(targets_.data(), limits_.data(), sources_.data(), sizes_.data(), targets_.size(),
                  attrs_.data(), indexes_.data(), attrs_.size(), rest...);
    });
  }

 private:
  std::vector<void*> targets_, sources_;
  std::vector<size_t> limits_, sizes_, indexes_;
  std::vector<aclrtMemcpyBatchAttr> attrs_;
};

py::tuple batch_now(const Numbers& targets, Numbers limits, const Numbers& sources, Numbers sizes,
                    const py::list& attrs, Numbers indexes) {
  Batch batch(targets, std::move(limits), sources, std::move(sizes), attrs, std::move(indexes));
  size_t failed = SIZE_MAX;
  const int ret = batch.run(aclrtMemcpyBatch, &failed);
  return py::make_tuple(failed, ret);
}

py::tuple batch_async(const Numbers& targets, Numbers limits, const Numbers& sources, Numbers sizes,
                      const py::list& attrs, Numbers indexes, uint64_t stream) {
  Batch batch(targets, std::move(limits), sources, std::move(sizes), attrs, std::move(indexes));
  size_t failed = SIZE_MAX;
  const int ret = batch.run(aclrtMemcpyBatchAsync, &failed, to_c<aclrtStream>(stream));
  return py::make_tuple(failed, ret);
}

int batch_now_v2(const Numbers& targets, Numbers limits, const Numbers& sources, Numbers sizes,
                 const py::list& attrs, Numbers indexes) {
  return Batch(targets, std::move(limits), sources, std::move(sizes), attrs, std::move(indexes))
      .run(aclrtMemcpyBatchV2);
}

int batch_async_v2(const Numbers& targets, Numbers limits, const Numbers& sources, Numbers sizes,
                   const py::list& attrs, Numbers indexes, uint64_t stream) {
  return Batch(targets, std::move(limits), sources, std::move(sizes), attrs, std::move(indexes))
      .run(aclrtMemcpyBatchAsyncV2, to_c<aclrtStream>(stream));
}

}  // namespace

void add_copy_batch(Group& rt) {
  rt.def(
      "memcpy_batch", batch_now, "dsts"_a, "dest_maxs"_a, "srcs"_a, "sizes"_a, "attrs"_a, "attrs_indexes"_a,
      R"((fail_index, ret): copies many ranges now, all in one direction between host and device. attrs are dicts
{'dstLoc': {'id', 'type'}, 'srcLoc': {...}}.)");
  rt.def("memcpy_batch_async", batch_async, "dsts"_a, "dest_maxs"_a, "srcs"_a, "sizes"_a, "attrs"_a,
         "attrs_indexes"_a, "stream"_a, "(fail_index, ret): the same in stream order.");
  rt.def("memcpy_batch_v2", batch_now_v2, "dsts"_a, "dest_maxs"_a, "srcs"_a, "sizes"_a, "attrs"_a,
         "attrs_indexes"_a, "memcpy_batch that does not tell which copy failed.");
  rt.def("memcpy_batch_async_v2", batch_async_v2, "dsts"_a, "dest_maxs"_a, "srcs"_a, "sizes"_a, "attrs"_a,
         "attrs_indexes"_a, "stream"_a, "memcpy_batch_async that does not tell which copy failed.");
}

}  // namespace plat::acl_python
