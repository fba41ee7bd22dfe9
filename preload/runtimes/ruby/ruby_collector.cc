#include "preload/runtimes/ruby/ruby_collector.h"

#include <array>

#include "preload/runtimes/ruby/ruby_collector_code.h"

namespace swipr::runtimes {
namespace {

// Of an execution context; false: it is none.
bool read_ractor(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t context,
                 std::uint64_t& thread, std::uint64_t& ractor) noexcept {
  return context != 0 && context % 8 == 0 &&
         reader.read_value(context + layout.context_thread, thread) && thread != 0 &&
         thread % 8 == 0 && reader.read_value(thread + kRubyThreadRactor, ractor) && ractor != 0 &&
         ractor % 8 == 0;
}

// rb_ractor_t.threads ends with the execution context that runs, and the Ractor's main thread.
bool find_running(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t context,
                  std::uint16_t& out) noexcept {
  constexpr std::uint16_t kMaxBytes = 1024;
  std::uint64_t main = 0;
  std::uint64_t ractor = 0;
  if (!read_ractor(layout, reader, context, main, ractor)) return false;
  for (std::uint16_t at = 8; at < kMaxBytes; at += 8) {
    std::array<std::uint64_t, 2> words{};
    std::uint64_t thread = 0;
    std::uint64_t its_ractor = 0;
    if (!reader.read_value(ractor + at, words)) return false;
    if (words[1] != main || !read_ractor(layout, reader, words[0], thread, its_ractor) ||
        its_ractor != ractor) {
      continue;
    }
    out = at;
    return true;
  }
  return false;
}

}  // namespace

void find_ruby_collector(RubyRuntime& ruby, ObjectPieces& reader, std::uint64_t context) noexcept {
  RubyCollector found = ruby.collector;
  if (!follow_collector_code(found.code, reader, found)) return;
  if (ruby.current_context == 0 && !find_running(ruby.layout, reader, context, found.running))
    return;
  ruby.collector = found;
}

}  // namespace swipr::runtimes
