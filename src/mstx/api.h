// What the files of exported calls share.
#pragma once

#include <new>
#include <type_traits>

#include "mstx/broker.h"

namespace plat::mstx {

// Runs a call; out of memory it comes to nothing, as if nobody had listened.
template <class Call>
auto guarded(Call&& call) -> std::invoke_result_t<Call> {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return std::invoke_result_t<Call>();
  }
}

}  // namespace plat::mstx
