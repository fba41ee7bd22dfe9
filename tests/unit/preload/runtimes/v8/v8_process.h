// Real programs of node for the tests: each runs a scene of node_app.js until it is blocked.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "preload/runtimes/v8/v8_layout.h"
#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::runtimes {

// `node` of $PATH, and those in $SWIPR_NODES (separated by colons).
std::vector<std::string> find_nodes();

std::string name_of_node(const ::testing::TestParamInfo<std::string>& info);

struct ExpectedScriptFrame {
  std::string name;
  std::string file;
  std::uint32_t first_line = 0;
  std::uint32_t line = 0;
};

class NodeProcess {
 public:
  NodeProcess(const std::string& node, const std::vector<std::string>& arguments);
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool is_ready() const { return is_ready_; }
  // What it has told.
  const std::vector<ExpectedScriptFrame>& frames() const { return frames_; }
  std::vector<pid_t> threads() const;
  unwind::ImageReader reader() { return {&read_memory, this}; }
  // The first image of the process that holds V8.
  V8Detection detect(unwind::ImageReader through);
  V8Detection detect() { return detect(reader()); }
  // The native frames of a thread, as swipr's walk would have them.
  std::unique_ptr<unwind::FrameBuffer> walk(pid_t thread) const;

 private:
  static bool read_memory(void* state, std::uint64_t address, std::span<std::byte> out) noexcept;
  void start(const std::string& node, const std::vector<std::string>& arguments, int output);
  void read_output(int output);
  bool wait_until_blocked() const;

  pid_t pid_ = -1;
  int memory_ = -1;
  bool is_ready_ = false;
  std::vector<ExpectedScriptFrame> frames_;
};

}  // namespace swipr::runtimes
