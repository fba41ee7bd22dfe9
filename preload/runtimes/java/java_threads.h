// The threads that a Java virtual machine knows.
// `Reader`: as in java_frames.h.
// Context: control thread; in a signal handler only is_java_thread.  Allocates: never.
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_layout.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxJavaThreads = 4096;

// Whether this is a JavaThread of that thread. `java_thread` may be any number.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool is_java_thread(const JavaRuntime& java, Reader& reader,
                                      std::uint64_t java_thread, std::uint32_t tid) noexcept {
  std::uint64_t os = 0;
  std::uint32_t found = 0;
  return java_thread != 0 && java_thread % 8 == 0 &&
         reader.read_value(java_thread + java.layout.thread_os, os) && os != 0 &&
         reader.read_value(os + java.layout.os_tid, found) && found == tid;
}

// The first JavaThread that is wanted; 0: none, or kMaxJavaThreads come first.
template <typename Reader, typename Predicate>
SWIPR_SIGNAL_SAFE std::uint64_t find_java_thread_if(const JavaRuntime& java, Reader& reader,
                                                    const Predicate& is_wanted) noexcept {
  const JavaLayout& layout = java.layout;
  std::uint64_t thread = 0;
  if (java.statics.threads == 0 || layout.threads_length == kNoJavaField ||
      layout.threads_array == kNoJavaField) {
    if (!reader.read_value(java.statics.first_thread, thread)) return 0;
    for (unsigned i = 0; thread != 0 && i < kMaxJavaThreads; ++i) {
      if (is_wanted(thread)) return thread;
      if (!reader.read_value(thread + layout.thread_next, thread)) return 0;
    }
    return 0;
  }
  std::uint64_t list = 0;
  std::uint64_t threads = 0;
  std::uint32_t count = 0;
  if (!reader.read_value(java.statics.threads, list) ||
      !reader.read_value(list + layout.threads_length, count) ||
      !reader.read_value(list + layout.threads_array, threads)) {
    return 0;
  }
  for (std::uint32_t i = 0; i < count && i < kMaxJavaThreads; ++i) {
    if (!reader.read_value(threads + i * sizeof thread, thread)) return 0;
    if (is_wanted(thread)) return thread;
  }
  return 0;
}

// The JavaThread of a thread; 0: as above.
template <typename Reader>
SWIPR_SIGNAL_SAFE std::uint64_t find_java_thread(const JavaRuntime& java, Reader& reader,
                                                 std::uint32_t tid) noexcept {
  return find_java_thread_if(java, reader, [&](std::uint64_t thread) {
    return is_java_thread(java, reader, thread, tid);
  });
}

}  // namespace swipr::runtimes
