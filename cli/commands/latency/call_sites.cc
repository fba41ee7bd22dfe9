#include "cli/commands/latency/call_sites.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "cli/trace/function_query.h"
#include "common/host/unique_fd.h"
#include "common/wire/slow_calls.h"

namespace swipr::commands {

namespace {

using host::Error;
using host::Result;
using symbolize::Symbolizer;

constexpr std::size_t kMostCodeBytes = std::size_t{1} << 20;  // of a function

struct Line {
  std::string file;
  std::uint32_t number = 0;
};

bool is_line(const symbolize::SourceFunction& frame, const Line& line) {
  if (frame.line != line.number || !frame.file.ends_with(line.file)) return false;
  const std::size_t before = frame.file.size() - line.file.size();
  return before == 0 || frame.file[before - 1] == '/' || line.file.front() == '/';
}

std::vector<std::uint8_t> read_code(const std::string& path, FileOffset offset) {
  std::vector<std::uint8_t> code(kMostCodeBytes);
  const host::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t bytes =
      file ? ::pread(file.value(), code.data(), code.size(), static_cast<off_t>(offset.value)) : 0;
  code.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return code;
}

// A call through a register or memory: FF /2. How long it is, by its second byte; 0: not one.
// Source: Intel SDM volume 2, tables 2-2 and 2-3.
std::size_t length_of_indirect_call(std::span<const std::uint8_t> code) {
  if (code.size() < 2 || code[0] != 0xff || (code[1] >> 3 & 7) != 2) return 0;
  const unsigned mode = code[1] >> 6;
  const unsigned low = code[1] & 7;
  if (mode == 3) return 2;
  const bool has_index = low == 4;
  const bool is_absolute =
      mode == 0 && (low == 5 || (has_index && code.size() > 2 && (code[2] & 7) == 5));
  const std::size_t displacement = mode == 1 ? 1 : mode == 2 || is_absolute ? 4 : 0;
  return 2 + (has_index ? 1 : 0) + displacement;
}

// Source: Arm ARM, C6.2: BL; BLR, BLRAA and others.
bool is_call_of_aarch64(std::uint32_t word, std::uint64_t address, std::uint64_t begin,
                        std::uint64_t reach) {
  if ((word & 0xfefff000) == 0xd63f0000) return true;
  if (word >> 26 != 0x25) return false;
  const std::int64_t distance = std::int64_t{static_cast<std::int32_t>(word << 6) >> 6} * 4;
  const std::uint64_t target = address + static_cast<std::uint64_t>(distance);
  return target < begin + reach && target + reach >= begin;
}

}  // namespace

std::vector<std::size_t> find_call_ends_of_aarch64(std::span<const std::uint8_t> code,
                                                   std::uint64_t begin, std::uint64_t reach) {
  std::vector<std::size_t> ends;
  std::uint32_t word = 0;
  for (std::size_t at = 0; at + sizeof word <= code.size(); at += sizeof word) {
    std::memcpy(&word, code.data() + at, sizeof word);
    if (is_call_of_aarch64(word, begin + at, begin, reach)) ends.push_back(at + sizeof word);
  }
  return ends;
}

std::vector<std::size_t> find_call_ends(std::span<const std::uint8_t> code, std::uint64_t begin,
                                        std::uint64_t reach) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const auto rest = code.subspan(at);
    std::size_t length = length_of_indirect_call(rest);
    if (rest[0] == 0xe8 && rest.size() >= 5) {
      std::int32_t distance = 0;
      std::memcpy(&distance, rest.data() + 1, sizeof distance);
      const std::uint64_t target =
          begin + at + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
      const bool is_near = target < begin + reach && target + reach >= begin;
      length = is_near ? 5 : 0;
    }
    if (length != 0 && length <= rest.size()) ends.push_back(at + length);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

Result<std::vector<CallSite>> find_call_sites(const profile::Recording& process,
                                              const std::vector<std::uint32_t>& modules,
                                              Symbolizer& symbolizer, const std::string& place) {
  const auto query = tracing::parse_function_query(place);
  if (!query || query->kind != tracing::FunctionQuery::Kind::kLine) {
    return Error(fmt::format("--at needs FILE:LINE, such as main.cc:120, not '{}'", place));
  }
  const Line line{query->name, static_cast<std::uint32_t>(query->line)};
  std::vector<CallSite> sites;
  for (const std::uint32_t index : modules) {
    const profile::Module& module = process.modules[index];
    if (!tracing::matches_module(*query, module.path)) continue;
    const auto handle = symbolizer.open_module({module.path, module.build_id,
                                                process.processes[module.process].pid.value,
                                                module.start, module.size_bytes});
    const bool is_aarch64 = process.processes[module.process].machine == EM_AARCH64;
    const auto find_ends = is_aarch64 ? &find_call_ends_of_aarch64 : &find_call_ends;
    for (const auto& function : symbolizer.find_line(handle, line.file, line.number)) {
      const auto code = read_code(symbolizer.sources(handle).file,
                                  symbolizer.file_offset(handle, function.begin));
      for (const std::size_t end :
           find_ends(code, function.begin.value, module.size_bytes + kMostCodeBytes)) {
        const ImageAddr last{function.begin.value + end - 1};
        const auto frames = symbolizer.find_functions(handle, symbolizer.file_offset(handle, last));
        if (frames.empty() || frames.back().offset != end - 1) break;  // behind the function
        if (std::any_of(frames.begin(), frames.end(),
                        [&](const auto& frame) { return is_line(frame, line); })) {
          sites.push_back({{last.value + 1}, module.path, module.build_id});
        }
      }
    }
  }
  if (sites.empty()) {
    return Error(
        fmt::format("no call instruction is known at {}: what it calls is inlined, or it "
                    "is a tail call, or there is no line table with it",
                    place));
  }
  if (sites.size() > wire::kMostSites) {
    return Error(fmt::format("{} has {} call instructions; at most {} are possible", place,
                             sites.size(), wire::kMostSites));
  }
  return sites;
}

}  // namespace swipr::commands
