// What the agent reads of recorded processes (command lines, cgroups, mounts, environments) and of
// its own configuration.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/fleet/identity.h"
#include "cli/fleet/resource_attributes.h"
#include "cli/options/agent_settings.h"

using namespace swipr;

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

void check_identity(std::string_view text, const std::vector<std::string>& words) {
  fleet::ProcessFacts facts;
  facts.command_name = "comm";
  facts.executable = words.empty() ? std::string_view() : std::string_view(words.back());
  facts.command_line = words;
  facts.cgroup = facts.mountinfo = facts.labels = text;
  facts.version = fleet::find_attribute(text, "service.version");
  const fleet::Identity identity = fleet::identify(facts, "");
  expect(!identity.service.empty() && !identity.application.empty());
  expect(identity.labels.size() < 12);
}

void check_settings(std::string_view text) {
  const auto arguments = options::parse_settings(text);
  if (!arguments) return;
  for (const std::string& argument : *arguments) expect(argument.starts_with("--"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_identity(text, words_of(text));
  check_settings(text);
  return 0;
}
