#include "preload/agent/record/stream/function_stream.h"

#include <span>

#include "common/core/runtime_frame.h"
#include "common/wire/runtimes.h"

namespace swipr::agent {

namespace {

std::uint64_t flags_of(const LanguageFunction& function) noexcept {
  std::uint64_t flags = 0;
  if (function.is_lost) flags |= wire::kFunctionNameLost;
  if (function.is_collector) flags |= wire::kFunctionCollector;
  return flags;
}

// Calls use(number) for each frame of a language runtime.
template <typename Use>
void for_each_function(const StoredStack& stack, Use use) noexcept {
  for (const std::uint64_t pc : std::span(stack.pcs(), stack.frame_count)) {
    if (!is_runtime_frame(pc)) continue;
    use(static_cast<std::uint32_t>(runtime_frame_of(pc).function));
  }
}

}  // namespace

void FunctionStream::set_told(std::uint32_t function, Told told) noexcept {
  // Without memory it is written again with the next stack.
  if (function >= told_.size() && !told_.resize(2 * std::size_t{function} + 64)) return;
  told_[function] = told;
}

void FunctionStream::encode(wire::Encoder& out, std::uint32_t number) const noexcept {
  const LanguageFunction function = functions_->function(number);
  wire::encode(out, wire::FunctionRecord{.function = number,
                                         .language = function.language,
                                         .name = function.name,
                                         .file = function.file,
                                         .start_line = function.start_line,
                                         .flags = flags_of(function)});
}

void FunctionStream::define(wire::Encoder& out, const StoredStack& stack) noexcept {
  for_each_function(stack, [this, &out](std::uint32_t number) {
    if (number == 0 || is_told(number)) return;
    set_told(number, Told::kDefining);
    encode(out, number);
  });
}

std::string_view FunctionStream::name(std::uint32_t function) const noexcept {
  return function == 0 ? std::string_view{} : functions_->function(function).name;
}

void FunctionStream::settle(const StoredStack& stack, bool written) noexcept {
  for_each_function(stack, [this, written](std::uint32_t number) {
    if (number >= told_.size() || told_[number] != Told::kDefining) return;
    told_[number] = written ? Told::kYes : Told::kNo;
  });
}

bool FunctionStream::define_ahead(BlockWriter& blocks, const StoredStack& stack) noexcept {
  bool has_room = true;
  for_each_function(stack, [&](std::uint32_t number) {
    if (number == 0 || is_told(number) || !has_room) return;
    has_room = blocks.put([&](wire::Encoder& out) { encode(out, number); });
    if (has_room) set_told(number, Told::kYes);
  });
  return has_room;
}

std::size_t FunctionStream::definition_bytes(const StoredStack& stack) const noexcept {
  constexpr std::size_t kRecordBytes = 48;  // without the texts
  std::size_t bytes = name(stack.wait.runtime.type).size();
  for_each_function(stack, [this, &bytes](std::uint32_t number) {
    if (number == 0 || is_told(number)) return;
    const LanguageFunction function = functions_->function(number);
    bytes += kRecordBytes + function.name.size() + function.file.size();
  });
  return bytes;
}

}  // namespace swipr::agent
