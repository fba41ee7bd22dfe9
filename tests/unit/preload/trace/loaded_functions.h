// Functions of what is loaded in this process that can be traced, and the handler of the gate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "preload/trace/plan/plan.h"
#include "tests/unit/preload/trace/file_functions.h"

namespace swipr::trace {

// One image, its code as it is in its file.
class LoadedFile {
 public:
  // A part of its path; "": the program.
  explicit LoadedFile(const std::string& name);
  // False: refused.
  bool plan(std::size_t index, Function& function, Plan& plan);
  // The index of the function that begins at this address; size(): none.
  std::size_t find(std::uint64_t address) const;
  std::size_t size() const { return file_->functions().size(); }
  // How many bytes of the code differ from the file's.
  std::size_t changed_bytes() const;

 private:
  std::unique_ptr<FileFunctions> file_;
  std::uint64_t moved_ = 0;  // from the addresses in the file to those in memory
};

void install_gate_handler();  // once, and prepares everything

}  // namespace swipr::trace
