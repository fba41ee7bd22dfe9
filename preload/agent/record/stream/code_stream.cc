#include "preload/agent/record/stream/code_stream.h"

#include "common/wire/names.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/unwind/image/jit_object.h"

namespace swipr::agent {

namespace {

// In one tick: 1 ms. The rest is written at the next ticks.
constexpr std::size_t kMaxFunctions = 4096;

std::uint64_t wire_time(Moment moment) noexcept {
  return static_cast<std::uint64_t>(moment.count());
}

}  // namespace

void CodeStream::sync(const JitInterface& jit, StreamWriter& stream) noexcept {
  if (change_count_ == jit.change_count()) return;
  const std::span<const JitEntry> entries = jit.entries();
  if (told_.size() < entries.size() && !told_.resize(entries.size())) return;
  std::size_t functions_left = kMaxFunctions;
  for (std::size_t place = 0; place < entries.size(); ++place) {
    const JitEntry& entry = entries[place];
    std::uint64_t& told = told_[place];
    const bool is_gone = entry.gone != Moment{0};
    if (is_gone && told == entry.id) {
      const wire::CodeGoneRecord record{.object = entry.id,
                                        .valid_until_ns = wire_time(entry.gone)};
      if (!stream.put_record(record)) return;
      told = 0;
    } else if (!is_gone && (told != entry.id || partly_told_.id == entry.id)) {
      told = entry.id;
      if (!write_code(jit, entry, functions_left, stream)) return;
    }
  }
  change_count_ = jit.change_count();
}

// False: not all of it. The next call continues.
bool CodeStream::write_code(const JitInterface& jit, const JitEntry& entry,
                            std::size_t& functions_left, StreamWriter& stream) noexcept {
  unwind::JitObject object;
  if (!jit.open(entry, object)) {
    partly_told_ = {};
    return true;
  }
  if (partly_told_.id != entry.id) partly_told_ = {.id = entry.id};
  std::size_t index = 0;
  const bool all = object.for_each_function([&](Range<std::uint64_t> code, std::string_view name) {
    if (index++ < partly_told_.functions) return true;
    const wire::CodeRecord record{.start = code.begin,
                                  .size_bytes = code.end - code.begin,
                                  .valid_from_ns = wire_time(entry.since),
                                  .name = leading(name, wire::kMaxStringBytes),
                                  .object = entry.id};
    if (functions_left == 0 ||
        !stream.put([&record](wire::Encoder& out) { wire::encode(out, record, {}); })) {
      return false;
    }
    --functions_left;
    ++partly_told_.functions;
    return true;
  });
  if (all) partly_told_ = {};
  return all;
}

}  // namespace swipr::agent
