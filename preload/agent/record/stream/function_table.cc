#include "preload/agent/record/stream/function_table.h"

#include <cstring>

namespace swipr::agent {

namespace {

// FNV-1a.
std::uint64_t add_to_hash(std::uint64_t hash, std::string_view text) noexcept {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return (hash ^ text.size()) * kPrime;
}

std::uint64_t hash_of(const LanguageFunction& function) noexcept {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
  const std::uint64_t hash = add_to_hash(add_to_hash(kBasis, function.name), function.file);
  const std::uint64_t rest = std::uint64_t{function.start_line} << 9 |
                             static_cast<std::uint64_t>(function.language) << 1 |
                             (function.is_lost ? 1u : 0u);
  return (hash ^ rest) * 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
}

}  // namespace

std::uint32_t FunctionTable::intern(const LanguageFunction& function) noexcept {
  if (index_.empty() && !index_.resize(kIndexEntries)) return 0;
  const std::uint64_t hash = hash_of(function);
  std::size_t at = hash >> 32 & (kIndexEntries - 1);
  for (; index_[at] != 0; at = (at + 1) & (kIndexEntries - 1)) {
    const std::uint32_t number = index_[at];
    if (entries_[number - 1].hash == hash && this->function(number) == function) return number;
  }
  const std::uint32_t number = add(function, hash);
  if (number != 0) index_[at] = number;
  return number;
}

std::uint32_t FunctionTable::add(const LanguageFunction& function, std::uint64_t hash) noexcept {
  const std::size_t bytes = function.name.size() + function.file.size();
  is_full_ = is_full_ || entries_.size() == kMaxFunctions || bytes > kMaxTextBytes - texts_.size();
  if (is_full_ || !texts_.reserve(texts_.size() + bytes)) return 0;
  const Entry entry{.hash = hash,
                    .text = static_cast<std::uint32_t>(texts_.size()),
                    .name_bytes = static_cast<std::uint32_t>(function.name.size()),
                    .file_bytes = static_cast<std::uint32_t>(function.file.size()),
                    .start_line = function.start_line,
                    .language = function.language,
                    .is_lost = function.is_lost};
  if (!entries_.push_back(entry)) return 0;
  for (const std::string_view text : {function.name, function.file}) {
    if (!text.empty()) std::memcpy(texts_.data() + texts_.size(), text.data(), text.size());
    texts_.add_written(text.size());
  }
  return static_cast<std::uint32_t>(entries_.size());
}

LanguageFunction FunctionTable::function(std::uint32_t number) const noexcept {
  const Entry& entry = entries_[number - 1];
  const char* const text = texts_.data() + entry.text;
  return {.language = entry.language,
          .name = {text, entry.name_bytes},
          .file = {text + entry.name_bytes, entry.file_bytes},
          .start_line = entry.start_line,
          .is_lost = entry.is_lost};
}

void FunctionTable::release() noexcept {
  index_.release();
  entries_.release();
  texts_.release();
  is_full_ = false;
}

}  // namespace swipr::agent
