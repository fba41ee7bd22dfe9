#include "common/host/text/runtime_text.h"

#include <fmt/format.h>

#include "common/host/text/clean_text.h"

namespace swipr::host {

namespace {

std::string describe(std::string_view language, std::string_view version, std::string_view what) {
  return clean_text(fmt::format("{}{}{}: {}", language, version.empty() ? "" : " ", version, what));
}

}  // namespace

std::string describe_refusal(std::string_view language, std::string_view version,
                             std::string_view reason) {
  return describe(
      language, version,
      fmt::format("frames are not read ({})", reason.empty() ? "no reason given" : reason));
}

std::string describe_runtime(std::string_view language, std::string_view version,
                             std::string_view refusal) {
  return refusal.empty() ? describe(language, version, "frames are read")
                         : describe_refusal(language, version, refusal);
}

}  // namespace swipr::host
