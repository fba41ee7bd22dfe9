// Real virtual machines for the tests: each runs JavaApp.java until all its threads are blocked.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "preload/runtimes/java/java_layout.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

struct JavaMachine {
  std::string program;
  std::string mode;  // -Xint, -Xcomp …
};

inline void PrintTo(const JavaMachine& machine, std::ostream* out) {
  *out << machine.program << " " << machine.mode;
}

// Those below /usr/lib/jvm and the folders in $SWIPR_JAVA_HOMES (separated by colons), in each
// mode.
std::vector<JavaMachine> find_java_machines();

std::string name_of_java_machine(const ::testing::TestParamInfo<JavaMachine>& info);

struct ExpectedJavaFrame {
  std::string name;
  std::string file;
  std::uint32_t line = 0;
  bool operator==(const ExpectedJavaFrame&) const = default;
};

inline void PrintTo(const ExpectedJavaFrame& frame, std::ostream* out) {
  *out << frame.name << " (" << frame.file << ":" << frame.line << ")";
}

struct ExpectedJavaStack {
  std::string name;
  std::uint32_t tid = 0;
  std::vector<ExpectedJavaFrame> frames;
};

class JavaProcess {
 public:
  explicit JavaProcess(const JavaMachine& machine);
  ~JavaProcess();
  JavaProcess(const JavaProcess&) = delete;
  JavaProcess& operator=(const JavaProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool is_ready() const { return is_ready_; }
  const std::vector<ExpectedJavaStack>& stacks() const { return stacks_; }
  unwind::ImageReader reader() { return {&read_memory, this}; }
  // The first image of the process that holds HotSpot, refreshed.
  JavaDetection detect();
  JavaDetection detect_through(unwind::ImageReader through);

 private:
  static bool read_memory(void* state, std::uint64_t address, std::span<std::byte> out) noexcept;
  void start(const JavaMachine& machine, int input, int output);
  void read_output(int output);
  bool find_tids();
  bool wait_until_blocked() const;

  pid_t pid_ = -1;
  int memory_ = -1;
  int input_ = -1;  // nothing is ever written to it
  bool is_ready_ = false;
  std::vector<ExpectedJavaStack> stacks_;
};

}  // namespace swipr::runtimes
