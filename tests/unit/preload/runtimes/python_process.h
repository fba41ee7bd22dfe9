// Real interpreters for the tests: each runs python_app.py until all its threads are blocked.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "preload/runtimes/python/python_layout.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

struct Interpreter {
  std::string root;  // to be entered with chroot; empty: none
  std::string program;
  std::string label() const { return root + program; }
};

inline void PrintTo(const Interpreter& interpreter, std::ostream* out) {
  *out << interpreter.label();
}

// pyenv's versions, the system's, and those of the root folders in $SWIPR_PYTHON_ROOTS (separated
// by colons). One of each version.
std::vector<Interpreter> find_interpreters();
// Likewise those that swipr must not read: other versions, and debug builds.
std::vector<Interpreter> find_refused_interpreters();

std::string name_of_interpreter(const ::testing::TestParamInfo<Interpreter>& info);

struct ExpectedFrame {
  std::string name;
  std::string file;
  std::uint32_t first_line = 0;
  std::uint32_t line = 0;
  bool operator==(const ExpectedFrame&) const = default;
};

inline void PrintTo(const ExpectedFrame& frame, std::ostream* out) {
  *out << frame.name << " (" << frame.file << ":" << frame.line << ", from " << frame.first_line
       << ")";
}

struct ExpectedStack {
  std::uint64_t tid = 0;
  std::string kind;
  std::vector<ExpectedFrame> frames;
};

struct ExpectedCode {
  std::uint64_t address = 0;
  std::uint32_t first_line = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;  // offset, line
};

class PythonProcess {
 public:
  // `app`: a program that writes that many stacks in the format of python_app.py, and blocks.
  explicit PythonProcess(const Interpreter& interpreter, const char* app = SWIPR_PYTHON_APP,
                         std::size_t stacks = 15, std::size_t blocked = 15);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool is_ready() const { return !stacks_.empty() && stacks_.size() == expected_; }
  const std::vector<ExpectedStack>& stacks() const { return stacks_; }
  const std::vector<ExpectedCode>& codes() const { return codes_; }
  unwind::ImageReader reader() { return {&read_memory, this}; }
  // The first image of the process that holds CPython.
  PythonDetection detect();
  // … after that: what find_exported needs.
  Range<std::uint64_t> dynamic() const { return dynamic_; }
  std::uint64_t load_bias() const { return load_bias_; }

 private:
  static bool read_memory(void* state, std::uint64_t address, std::span<std::byte> out) noexcept;
  void start(const Interpreter& interpreter, const char* app_file, int input, int output);
  void read_output(int output, std::size_t most_blocked);
  bool wait_until_blocked() const;

  std::size_t expected_;
  Range<std::uint64_t> dynamic_{};
  std::uint64_t load_bias_ = 0;
  pid_t pid_ = -1;
  int memory_ = -1;
  int input_ = -1;  // nothing is ever written to it
  std::vector<ExpectedStack> stacks_;
  std::vector<ExpectedCode> codes_;
};

}  // namespace swipr::runtimes
