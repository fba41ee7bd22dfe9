#include "preload/unwind/derived/derived_table.h"

namespace swipr::unwind {

// musl's code without CFI is not followed on this architecture.
BuildStatus derive_table(const BuildResult& /*image*/, ImageReader /*reader*/,
                         const UnwindTable*& /*table*/) noexcept {
  return BuildStatus::kNoCfi;
}

}  // namespace swipr::unwind
