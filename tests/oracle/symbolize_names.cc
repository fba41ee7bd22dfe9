// Addresses of one file from standard input, one hexadecimal number per line, into functions, as
// llvm-symbolizer prints them: per function its name and file:line, innermost first, an empty line
// after each address. For comparisons with other symbolizers.
// usage: symbolize_names FILE [CACHE_FOLDER] < ADDRESSES
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/symbolizer.h"

namespace {

using swipr::symbolize::Symbolizer;

constexpr std::size_t kOutputBytes = 65536;

std::string read_input() {
  std::string text;
  char buffer[65536];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) {
    text.append(buffer, count);
  }
  return text;
}

std::vector<std::uint64_t> parse_addresses(std::string_view text) {
  std::vector<std::uint64_t> addresses;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with("0x")) line.remove_prefix(2);
    std::uint64_t address = 0;
    std::from_chars(line.data(), line.data() + line.size(), address, 16);
    addresses.push_back(address);
  }
  return addresses;
}

void append(const std::vector<swipr::symbolize::SourceFunction>& functions, std::string* text) {
  for (const auto& function : functions) {
    text->append(function.name).append("\n").append(function.file);
    text->append(":").append(std::to_string(function.line)).append("\n");
  }
  text->append(functions.empty() ? "??\n??:0\n\n" : "\n");
}

void write_out(std::string* text) {
  std::fwrite(text->data(), 1, text->size(), stdout);
  text->clear();
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: symbolize_names FILE [CACHE_FOLDER] < ADDRESSES\n", stderr);
    return 2;
  }
  swipr::symbolize::Options options;
  if (count > 2) options.cache_folder = std::filesystem::absolute(words[2]);
  Symbolizer symbolizer(options);
  const auto module = symbolizer.open_module({std::filesystem::absolute(words[1]), "", 0});
  std::vector<Symbolizer::Lookup> lookups;
  for (const std::uint64_t address : parse_addresses(read_input())) {
    lookups.push_back({module, symbolizer.file_offset(module, {address})});
  }
  std::string text;
  for (const auto& functions : symbolizer.find_all(lookups)) {
    append(functions, &text);
    if (text.size() > kOutputBytes) write_out(&text);
  }
  write_out(&text);
  const std::string note(symbolizer.note(module));
  if (!note.empty()) std::fprintf(stderr, "symbolize_names: %s\n", note.c_str());
  return 0;
}
