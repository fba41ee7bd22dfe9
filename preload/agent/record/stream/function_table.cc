#include "preload/agent/record/stream/function_table.h"

#include <cstring>
#include <span>
#include <utility>

#include "preload/unwind/base/code_hash.h"

namespace swipr::agent {

namespace {

std::uint64_t hash_of(const LanguageFunction& function) noexcept {
  std::uint64_t hash = std::uint64_t{function.start_line} << 10 |
                       static_cast<std::uint64_t>(function.language) << 2 |
                       (function.is_collector ? 2u : 0u) | (function.is_lost ? 1u : 0u);
  for (const std::string_view text : {function.name, function.file}) {
    hash = unwind::hash_word(hash, text.size());
    hash = unwind::hash_bytes(std::as_bytes(std::span(text)), hash);
  }
  return hash;
}

}  // namespace

std::uint32_t FunctionTable::intern(const LanguageFunction& function) noexcept {
  const std::uint32_t number = find_or_add(function);
  has_left_out_ = has_left_out_ || number == 0;
  return number;
}

std::uint32_t FunctionTable::find_or_add(const LanguageFunction& function) noexcept {
  const std::uint64_t hash = hash_of(function);
  for (std::size_t at = hash & mask(); !index_.empty() && index_[at] != 0; at = (at + 1) & mask()) {
    const std::uint32_t number = index_[at];
    if (entries_[number - 1].hash == hash && this->function(number) == function) return number;
  }
  if (!grow_index()) return 0;
  const std::uint32_t number = add(function, hash);
  if (number != 0) enter(number);
  return number;
}

bool FunctionTable::grow_index() noexcept {
  if (2 * (entries_.size() + 1) <= index_.size()) return true;
  MappedArray<std::uint32_t> larger;
  if (!larger.resize(index_.empty() ? kFirstIndexEntries : 2 * index_.size())) return false;
  std::swap(index_, larger);
  larger.release();
  for (std::uint32_t number = 1; number <= entries_.size(); ++number) enter(number);
  return true;
}

void FunctionTable::enter(std::uint32_t number) noexcept {
  std::size_t at = entries_[number - 1].hash & mask();
  while (index_[at] != 0) at = (at + 1) & mask();
  index_[at] = number;
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
                    .is_lost = function.is_lost,
                    .is_collector = function.is_collector};
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
          .is_lost = entry.is_lost,
          .is_collector = entry.is_collector};
}

void FunctionTable::release() noexcept {
  index_.release();
  entries_.release();
  texts_.release();
  is_full_ = has_left_out_ = false;
}

}  // namespace swipr::agent
