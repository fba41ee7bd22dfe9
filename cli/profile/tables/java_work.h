// CPU time that a Java virtual machine used for itself, by what its threads do. They are known by
// the names that HotSpot gives them (src/hotspot/share/gc, runtime; 11 to 25), of which the kernel
// keeps 15 bytes. Pure.
#pragma once

#include <chrono>
#include <string_view>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

enum class JavaWork { kProgram, kCollector, kCompiler, kMachine };

// Of a thread of a process with Java. kMachine: safepoints, and all collections of the serial
// collector.
JavaWork java_work_of(std::string_view thread_name);

// CPU time in processes whose Java frames are read.
struct JavaTimes {
  std::chrono::nanoseconds all{0};
  std::chrono::nanoseconds collectors{0};
  std::chrono::nanoseconds compilers{0};
  std::chrono::nanoseconds machine{0};
};
JavaTimes java_times(const Recording& recording);

}  // namespace swipr::profile
