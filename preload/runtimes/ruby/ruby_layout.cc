#include "preload/runtimes/ruby/ruby_layout.h"

#include <pthread.h>

#include <array>
#include <cstring>
#include <span>

#include "preload/runtimes/tid_in_pthread.h"
#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint8_t kBehindLock = 8 + sizeof(pthread_mutex_t);

constexpr std::array kRubyLayouts = {
    RubyLayout{2, 7, 56, 8, 120, true, false, false, false, 56, 32, 72, 88, kBehindLock},
    RubyLayout{3, 0, 56, 8, 120, true, false, false, false, 56, 40, 80, 96, kBehindLock},
    RubyLayout{3, 1, 64, 12, 120, true, false, true, false, 48, 40, 80, 104, kBehindLock},
    RubyLayout{3, 2, 64, 12, 112, false, true, true, true, 48, 48, 8, 56, kBehindLock},
    RubyLayout{3, 3, 56, 12, 112, false, true, true, true, 48, 48, 16, 72, 16},
    RubyLayout{3, 4, 56, 12, 112, false, true, true, true, 48, 48, 16, 72, 16},
};

}  // namespace

const RubyLayout* find_ruby_layout(unsigned major, unsigned minor) noexcept {
  for (const RubyLayout& layout : kRubyLayouts) {
    if (layout.major == major && layout.minor == minor) return &layout;
  }
  return nullptr;
}

RubyDetection detect_ruby(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                          unwind::ImageReader reader) noexcept {
  RubyDetection found;
  std::array<std::int32_t, 2> version{};  // of three: major, minor, teeny
  const std::uint64_t text = unwind::find_exported(dynamic, load_bias, "ruby_version", reader);
  if (text == 0) return found;
  const std::uint64_t api = unwind::find_exported(dynamic, load_bias, "ruby_api_version", reader);
  if (api == 0 || !reader.read_value(api, version)) return found;
  found.state = DetectionState::kRefused;
  found.reason = "unsupported version; 2.7 to 3.4 are";
  for (std::size_t at = 0; at + 1 < sizeof found.version; ++at) {
    char& c = found.version[at];
    if (!reader.read_value(text + at, c) || c == '\0') break;
  }
  const RubyLayout* const layout =
      find_ruby_layout(static_cast<unsigned>(version[0]), static_cast<unsigned>(version[1]));
  if (layout == nullptr) return found;
  RubyRuntime& ruby = found.runtime;
  ruby.layout = *layout;
  ruby.pthread_offset = find_pthread_offset();
  if (layout->major == 2) {
    ruby.current_context =
        unwind::find_exported(dynamic, load_bias, "ruby_current_execution_context_ptr", reader);
    ruby.machine = unwind::find_exported(dynamic, load_bias, "ruby_current_vm_ptr", reader);
    found.reason = "it does not export its virtual machine";
    if (ruby.current_context == 0 || ruby.machine == 0) return found;
  }
  find_ruby_classes(dynamic, load_bias, reader, ruby.classes);
  ruby.collector.code = unwind::find_exported_range(dynamic, load_bias, "rb_during_gc", reader);
  found.state = DetectionState::kFound;
  found.reason = nullptr;
  return found;
}

}  // namespace swipr::runtimes
