// Clients that speak mstx with an accent.
//
// Some pools use the memory calls as a way to report totals rather than to describe memory, and leave fields
// of the structs unset: what stands there is whatever the stack held. They are known by the name of their
// domain. For them the unset fields are not looked at, and tools get them empty.
#pragma once

#include <string_view>

namespace plat::mstx {

struct Dialect {
  std::string_view domain;
  // Of a region batch only the count and the descriptions are set: no heap, no type, no room for handles. Of
  // a heap description only the range is.
  bool fields_unset;
  // A heap is no pool but the news "this block moved, and the pool now has so many bytes"; each replaces the
  // one before.
  bool heap_is_news;
};

// The dialect of a domain; plain mstx for names that are not known.
const Dialect& dialect_of(std::string_view domain_name);

}  // namespace plat::mstx
