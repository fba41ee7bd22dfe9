#include "symbolize/generated/jit_symbols.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxLoads = std::size_t{1} << 21;
constexpr std::size_t kMaxLines = std::size_t{1} << 24;
// Real code is replaced a few times at most; a file that claims more gets no more pieces.
constexpr std::size_t kMaxCoverings = std::size_t{1} << 23;
constexpr std::size_t kMaxJitNameBytes = 4096;

std::optional<std::uint64_t> take_hex(std::string_view* text) {
  if (text->starts_with("0x")) text->remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value, 16);
  if (error != std::errc() || end == text->data()) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  if (!text->starts_with(' ')) return std::nullopt;
  text->remove_prefix(1);
  return value;
}

}  // namespace

bool JitSymbols::add_load(std::uint64_t begin, std::uint64_t size, std::chrono::nanoseconds from,
                          std::uint32_t symbol) {
  if (size == 0 || begin + size < begin || loads_.size() >= kMaxLoads) return false;
  loads_.push_back({begin, begin + size, from, symbol});
  return true;
}

void JitSymbols::add_perf_map(std::string_view text) {
  while (!text.empty() && loads_.size() < kMaxLoads) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto begin = take_hex(&line);
    const auto size = begin ? take_hex(&line) : std::nullopt;
    if (!size || line.empty()) continue;
    const auto symbol = static_cast<std::uint32_t>(symbols_.size());
    if (!add_load(*begin, *size, std::chrono::nanoseconds::min(), symbol)) continue;
    symbols_.push_back({.name = std::string(line.substr(0, kMaxJitNameBytes))});
  }
}

std::uint32_t JitSymbols::intern_file(std::string_view name) {
  const auto [found, is_new] =
      file_index_.try_emplace(std::string(name), static_cast<std::uint32_t>(files_.size()));
  if (is_new) files_.emplace_back(name);
  return found->second;
}

class JitSymbols::DumpReader {
 public:
  DumpReader(JitSymbols& symbols, std::span<const std::byte> bytes)
      : symbols_(symbols), rest_(bytes) {}

  bool read() {
    constexpr std::uint32_t kMagic = 0x4A695444;
    constexpr std::uint64_t kArchTimestamps = 1;
    const auto magic = take<std::uint32_t>();
    take<std::uint32_t>();  // version
    const auto header_size = take<std::uint32_t>();
    skip(4 * 3);  // machine, padding, pid
    skip(8);      // time of the header
    const auto flags = take<std::uint64_t>();
    if (failed_ || magic != kMagic || header_size < kHeaderBytes) return false;
    has_times_ = (flags & kArchTimestamps) == 0;
    skip(header_size - kHeaderBytes);
    while (!failed_ && !rest_.empty()) read_record();
    return true;
  }

 private:
  static constexpr std::size_t kHeaderBytes = 40;
  static constexpr std::size_t kPrefixBytes = 16;
  enum Kind : std::uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2, kClose = 3 };

  template <typename T>
  T take() {
    T value{};
    if (rest_.size() < sizeof value) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }

  void skip(std::size_t count) {
    if (rest_.size() < count) failed_ = true;
    rest_ = rest_.subspan(std::min(count, rest_.size()));
  }

  std::string_view take_string() {
    const std::string_view all(reinterpret_cast<const char*>(rest_.data()), rest_.size());
    const std::size_t end = all.find('\0');
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    rest_ = rest_.subspan(end + 1);
    return all.substr(0, std::min(end, kMaxJitNameBytes));
  }

  void read_record() {
    const auto kind = take<std::uint32_t>();
    const auto size = take<std::uint32_t>();
    const auto time = take<std::uint64_t>();
    if (failed_ || size < kPrefixBytes || size - kPrefixBytes > rest_.size()) {
      failed_ = true;
      return;
    }
    const std::span<const std::byte> after = rest_.subspan(size - kPrefixBytes);
    rest_ = rest_.first(size - kPrefixBytes);
    const auto from = has_times_ && time <= kMaxTime
                          ? std::chrono::nanoseconds(static_cast<std::int64_t>(time))
                          : std::chrono::nanoseconds::min();
    if (kind == kLoad) read_load(from);
    if (kind == kMove) read_move(from);
    if (kind == kDebugInfo) read_debug_info();
    failed_ = false;  // of this record; the next one begins where this one said
    rest_ = kind == kClose ? rest_.first(0) : after;
  }

  void read_load(std::chrono::nanoseconds from) {
    skip(4 + 4 + 8);  // pid, tid, address of the mapping
    const auto begin = take<std::uint64_t>();
    const auto size = take<std::uint64_t>();
    const auto index = take<std::uint64_t>();
    const std::string_view name = take_string();
    const auto number = static_cast<std::uint32_t>(symbols_.symbols_.size());
    if (failed_ || name.empty() || !symbols_.add_load(begin, size, from, number)) return;
    Symbol symbol{.name = std::string(name)};
    if (begin == lines_begin_) {
      symbol.first_line = first_line_;
      symbol.line_count = static_cast<std::uint32_t>(symbols_.lines_.size()) - first_line_;
    }
    lines_begin_ = 0;
    symbols_.symbols_.push_back(std::move(symbol));
    by_index_[index] = number;
  }

  void read_move(std::chrono::nanoseconds from) {
    skip(4 + 4 + 8 + 8);  // pid, tid, address of the mapping, where the code was
    const auto begin = take<std::uint64_t>();
    const auto size = take<std::uint64_t>();
    const auto found = by_index_.find(take<std::uint64_t>());
    if (!failed_ && found != by_index_.end()) symbols_.add_load(begin, size, from, found->second);
  }

  // Comes before the code that it is about.
  void read_debug_info() {
    const auto begin = take<std::uint64_t>();
    auto count = take<std::uint64_t>();
    const auto first = static_cast<std::uint32_t>(symbols_.lines_.size());
    std::uint32_t file = 0;
    for (; count > 0 && !failed_ && symbols_.lines_.size() < kMaxLines; --count) {
      const auto address = take<std::uint64_t>();
      const auto line = take<std::int32_t>();
      skip(4);  // discriminator
      const std::string_view name = take_string();
      if (failed_) break;
      if (name != "\xff") file = symbols_.intern_file(name);  // "\xff": as before
      symbols_.lines_.push_back(
          {address - begin, line > 0 ? static_cast<std::uint32_t>(line) : 0, file});
    }
    symbols_.sort_lines(first);
    lines_begin_ = begin;
    first_line_ = first;
  }

  static constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 62;

  JitSymbols& symbols_;
  std::span<const std::byte> rest_;
  bool failed_ = false;
  bool has_times_ = true;
  std::uint64_t lines_begin_ = 0;
  std::uint32_t first_line_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> by_index_;
};

bool JitSymbols::add_jitdump(std::span<const std::byte> bytes) {
  return DumpReader(*this, bytes).read();
}

void JitSymbols::finish() {
  std::stable_sort(loads_.begin(), loads_.end(),
                   [](const Load& left, const Load& right) { return left.from < right.from; });
  starts_.clear();
  for (const Load& load : loads_) {
    starts_.push_back(load.begin);
    starts_.push_back(load.end);
  }
  std::sort(starts_.begin(), starts_.end());
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // piece, load
  for (std::uint32_t index = 0; index < loads_.size(); ++index) {
    auto piece = static_cast<std::size_t>(
        std::lower_bound(starts_.begin(), starts_.end(), loads_[index].begin) - starts_.begin());
    for (; starts_[piece] < loads_[index].end && pairs.size() < kMaxCoverings; ++piece) {
      pairs.emplace_back(static_cast<std::uint32_t>(piece), index);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  first_.assign(starts_.size() + 1, 0);
  covering_.clear();
  for (const auto& [piece, load] : pairs) {
    ++first_[piece + 1];
    covering_.push_back(load);
  }
  for (std::size_t piece = 1; piece < first_.size(); ++piece) first_[piece] += first_[piece - 1];
}

std::span<const std::uint32_t> JitSymbols::loads_at(RuntimeAddr address) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), address.value);
  if (after == starts_.begin()) return {};
  const auto piece = static_cast<std::size_t>(after - starts_.begin() - 1);
  return std::span(covering_).subspan(first_[piece], first_[piece + 1] - first_[piece]);
}

std::optional<JitSymbols::Place> JitSymbols::find(RuntimeAddr address,
                                                  std::chrono::nanoseconds time) const {
  const auto loads = loads_at(address);
  const auto after = std::upper_bound(loads.begin(), loads.end(), time,
                                      [this](std::chrono::nanoseconds wanted, std::uint32_t load) {
                                        return wanted < loads_[load].from;
                                      });
  if (after == loads.begin()) return std::nullopt;
  const Load& load = loads_[*std::prev(after)];
  if (time >= load.until) return std::nullopt;
  Place place{.symbol = load.symbol, .offset = address.value - load.begin, .file = {}, .line = 0};
  if (const Line* line = line_at(load, address)) {
    place.file = files_[line->file];
    place.line = line->line;
  }
  return place;
}

const JitSymbols::Line* JitSymbols::line_at(const Load& load, RuntimeAddr address) const {
  const Symbol& symbol = symbols_[load.symbol];
  const auto lines = std::span(lines_).subspan(symbol.first_line, symbol.line_count);
  const auto next =
      std::upper_bound(lines.begin(), lines.end(), address.value - load.begin,
                       [](std::uint64_t wanted, const Line& line) { return wanted < line.offset; });
  return next == lines.begin() ? nullptr : &*std::prev(next);
}

void JitSymbols::sort_lines(std::uint32_t first) {
  std::stable_sort(lines_.begin() + first, lines_.end(),
                   [](const Line& left, const Line& right) { return left.offset < right.offset; });
}

void JitSymbols::add_code(const Code& code) {
  const auto symbol = static_cast<std::uint32_t>(symbols_.size());
  if (!add_load(code.begin, code.size, code.from, symbol)) return;
  loads_.back().until = code.until;
  loads_.back().is_recorded = code.is_recorded;
  const auto first = static_cast<std::uint32_t>(lines_.size());
  for (const CodeLine& line : code.lines) {
    if (lines_.size() < kMaxLines) {
      lines_.push_back({line.offset, line.line, intern_file(line.file)});
    }
  }
  sort_lines(first);
  symbols_.push_back({.name = std::string(code.name.substr(0, kMaxJitNameBytes)),
                      .first_line = first,
                      .line_count = static_cast<std::uint32_t>(lines_.size()) - first});
}

std::vector<JitSymbols::Code> JitSymbols::code_at(std::span<const RuntimeAddr> addresses) const {
  std::map<std::uint32_t, Code> found;  // by load, in which they are in order
  for (const RuntimeAddr address : addresses) {
    for (const std::uint32_t index : loads_at(address)) {
      const Load& load = loads_[index];
      Code& code = found[index];
      code.begin = load.begin;
      code.size = load.end - load.begin;
      code.from = load.from;
      code.until = load.until;
      code.is_recorded = load.is_recorded;
      code.name = symbols_[load.symbol].name;
      const Line* line = line_at(load, address);
      if (line == nullptr || (!code.lines.empty() && code.lines.back().offset == line->offset)) {
        continue;
      }
      code.lines.push_back({line->offset, line->line, files_[line->file]});
    }
  }
  std::vector<Code> result;
  for (auto& [index, code] : found) result.push_back(std::move(code));
  return result;
}

}  // namespace swipr::symbolize
