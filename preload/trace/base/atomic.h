// What hooks need of std::atomic, whose header brings declarations with floating-point types, which
// clang refuses where only general registers may be used.
#pragma once

namespace swipr::trace {

// Loads acquire, stores release, the others do both.
template <typename Value>
class Atomic {
 public:
  Value load() const noexcept {
    Value value;
    __atomic_load(&value_, &value, __ATOMIC_ACQUIRE);
    return value;
  }
  void store(Value value) noexcept { __atomic_store(&value_, &value, __ATOMIC_RELEASE); }
  Value exchange(Value value) noexcept {
    Value before;
    __atomic_exchange(&value_, &value, &before, __ATOMIC_ACQ_REL);
    return before;
  }
  Value fetch_add(Value value) noexcept {
    return __atomic_fetch_add(&value_, value, __ATOMIC_ACQ_REL);
  }
  // False: `expected` is what was found instead.
  bool compare_exchange(Value& expected, Value desired) noexcept {
    return __atomic_compare_exchange(&value_, &expected, &desired, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
  }

 private:
  Value value_{};
};

}  // namespace swipr::trace
