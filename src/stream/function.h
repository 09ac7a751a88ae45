// SPDX-License-Identifier: Apache-2.0
// Function<R>: a move-only callable without arguments. Small ones live inside, so that queueing work
// allocates nothing.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace plat::stream {

template <class R>
class Function {
 public:
  // Room for a copy's arguments: two addresses, two sizes, a kind, and a pointer to what checks them.
  static constexpr size_t kInlineBytes = 48;

  Function() = default;

  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, Function> && std::is_invocable_r_v<R, std::decay_t<F>&>)
      Function(F&& callable) {  // NOLINT(google-explicit-constructor): a lambda is a task.
    using Callable = std::decay_t<F>;
    if constexpr (fits<Callable>()) {
      ::new (storage_) Callable(std::forward<F>(callable));
      ops_ = &kInlineOps<Callable>;
    } else {
      ::new (storage_) Callable*(new Callable(std::forward<F>(callable)));
      ops_ = &kHeapOps<Callable>;
    }
  }

  Function(Function&& other) noexcept { take(other); }
  Function& operator=(Function&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  ~Function() {
    if (ops_ && ops_->destroy) ops_->destroy(storage_);
  }

  explicit operator bool() const { return ops_ != nullptr; }
  R operator()() { return ops_->call(storage_); }

 private:
  struct Ops {
    R (*call)(void*);
    void (*move)(void* from, void* to);  // leaves `from` destroyed; nullptr: its bytes are all of it
    void (*destroy)(void*);              // nullptr: nothing to do
  };

  template <class Callable>
  static constexpr bool fits() {
    return sizeof(Callable) <= kInlineBytes && alignof(Callable) <= alignof(void*) &&
           std::is_nothrow_move_constructible_v<Callable>;
  }

  template <class Callable>
  static R call(void* at) {
    return (*static_cast<Callable*>(at))();
  }
  template <class Callable>
  static void move(void* from, void* to) {
    ::new (to) Callable(std::move(*static_cast<Callable*>(from)));
    static_cast<Callable*>(from)->~Callable();
  }
  template <class Callable>
  static void destroy(void* at) {
    static_cast<Callable*>(at)->~Callable();
  }

  template <class Callable>
  static constexpr Ops kInlineOps =
      std::is_trivially_copyable_v<Callable> ? Ops{call<Callable>, nullptr, nullptr}
                                             : Ops{call<Callable>, move<Callable>, destroy<Callable>};

  template <class Callable>
  static constexpr Ops kHeapOps{[](void* at) -> R { return (**static_cast<Callable**>(at))(); }, nullptr,
                                [](void* at) { delete *static_cast<Callable**>(at); }};

  void take(Function& other) {
    ops_ = std::exchange(other.ops_, nullptr);
    if (!ops_) return;
    if (ops_->move)
      ops_->move(other.storage_, storage_);
    else
      std::memcpy(storage_, other.storage_, kInlineBytes);
  }

  void reset() {
    if (const Ops* ops = std::exchange(ops_, nullptr); ops && ops->destroy) ops->destroy(storage_);
  }

  const Ops* ops_ = nullptr;
  alignas(void*) std::byte storage_[kInlineBytes];
};

}  // namespace plat::stream
