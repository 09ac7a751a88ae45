// SPDX-License-Identifier: Apache-2.0
// Managed memory: one address for host and device.

#include <limits>

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

constexpr size_t kDataBytesMax = 1 << 16;  // of an answer: more devices than there are

aclrtMemManagedLocation place_of(const py::dict& dict) {
  const py::object id = dict.contains("id") ? py::object(dict["id"]) : py::int_(0);
  return {static_cast<aclrtMemManagedLocationType>(field(dict, "type")),
          static_cast<int32_t>(
              integer(id, "id", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()))};
}

int advise(uint64_t address, uint64_t size, int32_t advice, const py::dict& place) {
  const aclrtMemManagedLocation location = place_of(place);
  return unlocked([&] {
    return aclrtMemManagedAdvise(to_c<void*>(address), size, static_cast<aclrtMemManagedAdviseType>(advice),
                                 location);
  });
}

// Room for one answer: words of 32 bits.
struct Answer {
  explicit Answer(size_t bytes) {
    if (bytes > kDataBytesMax) throw py::value_error("data_size is above 65536");
    words.resize((bytes + 3) / 4);
  }
  // A list for the one attribute that is one.
  py::object value(int32_t attribute) const {
    if (attribute == ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) return py::cast(words);
    return py::int_(words.empty() ? 0 : words.front());
  }
  std::vector<int32_t> words;
};

py::tuple attribute(int32_t which, uint64_t address, uint64_t size, size_t data_size) {
  Answer answer(data_size);
  int32_t nothing = 0;
  void* const room = answer.words.empty() ? &nothing : answer.words.data();
  const int ret = unlocked([&] {
    return aclrtMemManagedGetAttr(static_cast<aclrtMemManagedRangeAttribute>(which), to_c<void*>(address),
                                  size, room, data_size);
  });
  return py::make_tuple(answer.value(which), ret);
}

py::tuple attributes(const std::vector<int32_t>& which, uint64_t address, uint64_t size,
                     std::vector<size_t> data_sizes) {
  if (which.size() != data_sizes.size()) throw py::value_error("attributes and data_sizes differ in length");
  std::vector<Answer> answers;
  for (const size_t bytes : data_sizes) answers.emplace_back(bytes);
  std::vector<void*> rooms;
  for (Answer& answer : answers) rooms.push_back(answer.words.data());
  std::vector<aclrtMemManagedRangeAttribute> names;
  for (const int32_t each : which) names.push_back(static_cast<aclrtMemManagedRangeAttribute>(each));
  const int ret = unlocked([&] {
    return aclrtMemManagedGetAttrs(names.data(), names.size(), to_c<void*>(address), size, rooms.data(),
                                   data_sizes.data());
  });
  py::list values;
  for (size_t i = 0; i < answers.size(); ++i) values.append(answers[i].value(which[i]));
  return py::make_tuple(values, ret);
}

int prefetch(uint64_t address, uint64_t size, const py::dict& place, uint32_t flags, uint64_t stream) {
  const aclrtMemManagedLocation location = place_of(place);
  return unlocked([&] {
    return aclrtMemManagedPrefetchAsync(to_c<void*>(address), size, location, flags,
                                        to_c<aclrtStream>(stream));
  });
}

int prefetch_batch(const std::vector<uint64_t>& addresses, std::vector<size_t> sizes,
                   const std::vector<py::dict>& places, std::vector<size_t> indexes, uint64_t flags,
                   uint64_t stream) {
  if (addresses.size() != sizes.size()) throw py::value_error("ptrs and sizes differ in length");
  if (places.size() != indexes.size())
    throw py::value_error("prefetch_locs and prefetch_loc_idxs differ in length");
  std::vector<const void*> starts;
  for (const uint64_t address : addresses) starts.push_back(to_c<const void*>(address));
  std::vector<aclrtMemManagedLocation> locations;
  for (const py::dict& place : places) locations.push_back(place_of(place));
  return unlocked([&] {
    return aclrtMemManagedPrefetchBatchAsync(starts.data(), sizes.data(), starts.size(), locations.data(),
                                             indexes.data(), locations.size(), flags,
                                             to_c<aclrtStream>(stream));
  });
}

}  // namespace

void add_managed(Group& rt) {
  const auto ptr = "ptr"_a, size = "size"_a, flags = "flags"_a, stream = "stream"_a;
  rt.def("mem_alloc_managed", First<aclrtMemAllocManaged>::call, size, "flag"_a, Release(),
         "(ptr, ret): memory that host and devices use by one address, in whole 2 MiB, until free. flag is "
         "ACL_RT_MEM_ATTACH_GLOBAL.");
  rt.def("mem_managed_advise", advise, ptr, size, "advise"_a, "location"_a,
         "Says how pages will be used (ACL_MEM_ADVISE_*), and where: {'type': ACL_MEM_LOCATIONTYPE_*, 'id': "
         "device}.");
  rt.def(
      "mem_managed_get_attr", attribute, "attribute"_a, ptr, size, "data_size"_a,
      "(value, ret): what all pages of a range have in common (ACL_MEM_RANGE_ATTRIBUTE_*). data_size is 4; "
      "for ACCESSED_BY it is 4 bytes for each id of the list that the value is then.");
  rt.def("mem_managed_get_attrs", attributes, "attributes"_a, ptr, size, "data_sizes"_a,
         "(values, ret): several of them.");
  rt.def("mem_managed_prefetch_async", prefetch, ptr, size, "location"_a, flags, stream,
         "Asks in stream order for a range to be brought to a place. flags is 0.");
  rt.def("mem_managed_prefetch_batch_async", prefetch_batch, "ptrs"_a, "sizes"_a, "prefetch_locs"_a,
         "prefetch_loc_idxs"_a, flags, stream,
         "The same for several ranges; prefetch_locs[k] holds for those from prefetch_loc_idxs[k] on.");
}

}  // namespace plat::acl_python
