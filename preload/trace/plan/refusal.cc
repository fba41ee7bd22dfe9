#include "preload/trace/plan/plan.h"

namespace swipr::trace {

const char* refusal_text(Refusal refusal) noexcept {
  static constexpr const char* kTexts[kRefusalCount] = {
      "",
      "it is too short",
      "an instruction in it is not known",
      "its first instruction behind pushes has one byte",
      "the first two bytes to change are in two words of memory",
      "it branches back to its beginning",
      "a jump table leads to its beginning",
      "other code branches into its beginning",
      "it begins with a call that would return into the change",
      "it begins with a system call",
      "it begins with an instruction that cannot be executed elsewhere",
      "it reads its return address",
      "no memory near enough to it is free",
      "no function with call frame information begins there",
      "exceptions, the loader or switches of stacks depend on it",
      "swipr's signal handler calls it",
  };
  static_assert(static_cast<std::size_t>(Refusal::kNeededByHandler) + 1 == kRefusalCount);
  return kTexts[static_cast<std::size_t>(refusal)];
}

}  // namespace swipr::trace
