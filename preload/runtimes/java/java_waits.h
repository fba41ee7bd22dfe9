// What a blocked thread of Java waits for: a monitor that another thread holds (a synchronized
// block or method), or to be notified (Object.wait). Locks of java.util.concurrent are objects of
// Java: the stack shows them. Source: src/hotspot/share/runtime/objectMonitor.hpp, 8 to 27.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>

#include "common/core/runtime_frame.h"
#include "preload/runtimes/function_text.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/object_reader.h"

namespace swipr::runtimes {

struct JavaWait {
  RuntimeWait kind = RuntimeWait::kNone;  // or kMonitor, kCondition
  std::uint32_t holder_tid = 0;           // of kMonitor; 0: not known
  // Of kMonitor: where the machine notes the holder, and what it noted then.
  std::uint64_t owner_address = 0;
  std::uint64_t owner = 0;
};

// `java_thread`: of a thread that is blocked. `type`: the class of the object whose monitor it is;
// empty: not known. `holder`: a hint, kept by the caller: the JavaThread that was found last, or
// any number. The holder is the one at this moment. Bounds: the reads of kMaxJavaThreads threads.
JavaWait read_java_wait(const JavaRuntime& java, ObjectPieces& reader, std::uint64_t java_thread,
                        std::uint64_t& holder, BoundedText<1024>& type) noexcept;

}  // namespace swipr::runtimes
