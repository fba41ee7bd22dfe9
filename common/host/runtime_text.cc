#include "common/host/runtime_text.h"

#include <fmt/format.h>

#include "common/host/clean_text.h"

namespace swipr::host {

std::string describe_refusal(std::string_view language, std::string_view version,
                             std::string_view reason) {
  return clean_text(fmt::format("{}{}{}: frames are not read ({})", language,
                                version.empty() ? "" : " ", version,
                                reason.empty() ? "no reason given" : reason));
}

}  // namespace swipr::host
