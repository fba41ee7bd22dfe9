#include "preload/runtimes/java/java_waits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "preload/runtimes/java/java_symbols.h"
#include "preload/runtimes/java/java_threads.h"

namespace swipr::runtimes {

namespace {

constexpr std::uint64_t kAnonymousOwner = 1;  // who locked the object before it had a monitor

struct JavaMonitor {
  std::uint64_t object = 0;
  std::uint64_t owner = 0;
};

bool read_monitor(const JavaRuntime& java, ObjectPieces& reader, std::uint64_t monitor,
                  JavaMonitor& out) noexcept {
  constexpr std::uint32_t kFirstWithHandles = 16;
  const JavaLayout& layout = java.layout;
  std::uint64_t object = 0;
  if (!reader.read_value(monitor + layout.monitor_owner, out.owner) ||
      !reader.read_value(monitor + layout.monitor_object, object)) {
    return false;
  }
  if (java.version < kFirstWithHandles) {
    out.object = object;
  } else if (!reader.read_value(object, out.object)) {
    out.object = 0;
  }
  return true;
}

// Objects that a thread has locked: those without a monitor are in a small array of the thread.
bool has_locked(const JavaLayout& layout, ObjectPieces& reader, std::uint64_t thread,
                std::uint64_t object) noexcept {
  std::array<std::uint64_t, 8> locked{};
  const std::uint64_t first = layout.thread_locks + layout.locks_first;
  std::uint32_t top = 0;
  if (!reader.read_value(thread + layout.thread_locks + layout.locks_top, top) || top <= first) {
    return false;
  }
  const std::size_t count = std::min<std::uint64_t>((top - first) / sizeof object, locked.size());
  const auto used = std::span(locked).first(count);
  return reader.read(thread + first, std::as_writable_bytes(used)) &&
         std::find(used.begin(), used.end(), object) != used.end();
}

bool is_on_its_stack(const JavaLayout& layout, ObjectPieces& reader, std::uint64_t thread,
                     std::uint64_t address) noexcept {
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  return layout.thread_stack_end != kNoJavaField && layout.thread_stack_bytes != kNoJavaField &&
         reader.read_value(thread + layout.thread_stack_end, end) &&
         reader.read_value(thread + layout.thread_stack_bytes, bytes) && address < end &&
         end - address <= bytes;
}

// A monitor's owner is a number of the thread (24+), the thread, or an address on its stack: where
// it has locked the object before that had a monitor.
bool is_owner(const JavaLayout& layout, ObjectPieces& reader, std::uint64_t thread,
              const JavaMonitor& monitor) noexcept {
  if (monitor.owner == kAnonymousOwner) {
    return layout.thread_locks != kNoJavaField && layout.locks_top != kNoJavaField &&
           layout.locks_first != kNoJavaField && monitor.object != 0 &&
           has_locked(layout, reader, thread, monitor.object);
  }
  if (layout.thread_owner_id == kNoJavaField) {
    return monitor.owner == thread || is_on_its_stack(layout, reader, thread, monitor.owner);
  }
  std::uint64_t id = 0;
  return reader.read_value(thread + layout.thread_owner_id, id) && id == monitor.owner;
}

std::uint32_t find_holder(const JavaRuntime& java, ObjectPieces& reader, const JavaMonitor& monitor,
                          std::uint64_t& holder) noexcept {
  const auto owns = [&](std::uint64_t thread) {
    return is_owner(java.layout, reader, thread, monitor);
  };
  if (monitor.owner == 0) return 0;
  if (holder == 0 || !owns(holder)) holder = find_java_thread_if(java, reader, owns);
  std::uint64_t os = 0;
  std::uint32_t tid = 0;
  const bool is_found = holder != 0 && reader.read_value(holder + java.layout.thread_os, os) &&
                        reader.read_value(os + java.layout.os_tid, tid);
  return is_found ? tid : 0;
}

// The object's class: a compressed pointer, or a whole one where nothing is added to it. With small
// headers (UseCompactObjectHeaders, whose shift is larger than any other) it is the upper part of
// the first word.
bool read_class(const JavaRuntime& java, ObjectPieces& reader, std::uint64_t object,
                std::uint64_t& out) noexcept {
  constexpr std::uint32_t kMaxShiftOfFullHeaders = 3;
  constexpr std::uint32_t kMaxShift = 16;  // 25 without compressed pointers: -1
  constexpr unsigned kClassInHeader = 42;
  const JavaStatics& statics = java.statics;
  std::uint64_t base = 0;
  std::uint32_t shift = 0;
  std::uint64_t header = 0;
  std::uint64_t pointer = 0;
  if (object == 0 || java.layout.object_class == kNoJavaField || statics.class_base == 0 ||
      statics.class_shift == 0 || !reader.read_value(statics.class_base, base) ||
      !reader.read_value(statics.class_shift, shift) || !reader.read_value(object, header) ||
      !reader.read_value(object + java.layout.object_class, pointer)) {
    return false;
  }
  const bool is_whole = shift > kMaxShift || (base == 0 && shift == 0);
  const auto compressed = static_cast<std::uint32_t>(
      shift > kMaxShiftOfFullHeaders ? header >> kClassInHeader : pointer);
  out = is_whole ? pointer : base + (std::uint64_t{compressed} << shift);
  return true;
}

void read_type(const JavaRuntime& java, ObjectPieces& reader, std::uint64_t object,
               BoundedText<1024>& type) noexcept {
  std::uint64_t class_address = 0;
  std::uint64_t name = 0;
  if (!read_class(java, reader, object, class_address) ||
      !reader.read_value(class_address + java.layout.class_name, name) ||
      !read_java_symbol(java.layout, reader, name, JavaText::kClass, type)) {
    type.clear();
  }
}

}  // namespace

JavaWait read_java_wait(const JavaRuntime& java, ObjectPieces& reader, std::uint64_t java_thread,
                        std::uint64_t& holder, BoundedText<1024>& type) noexcept {
  const JavaLayout& layout = java.layout;
  std::uint64_t entered = 0;
  std::uint64_t awaited = 0;
  type.clear();
  if (layout.thread_entered == kNoJavaField || layout.thread_awaited == kNoJavaField ||
      layout.monitor_owner == kNoJavaField || layout.monitor_object == kNoJavaField ||
      !reader.read_value(java_thread + layout.thread_entered, entered) ||
      !reader.read_value(java_thread + layout.thread_awaited, awaited)) {
    return {};
  }
  JavaMonitor monitor;
  const std::uint64_t address = entered != 0 ? entered : awaited;
  if (address == 0 || !read_monitor(java, reader, address, monitor)) return {};
  read_type(java, reader, monitor.object, type);
  // If the collector has moved the object meanwhile, its class may have been read elsewhere.
  JavaMonitor again;
  reader.forget();
  if (!read_monitor(java, reader, address, again) || again.object != monitor.object) type.clear();
  if (entered == 0) return {.kind = RuntimeWait::kCondition};
  return {.kind = RuntimeWait::kMonitor,
          .holder_tid = find_holder(java, reader, monitor, holder),
          .owner_address = address + layout.monitor_owner,
          .owner = monitor.owner};
}

}  // namespace swipr::runtimes
