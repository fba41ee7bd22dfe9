// An image in memory that exports what CPython is recognised by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "preload/runtimes/python/python_layout.h"
#include "tests/unit/preload/agent/modules/fake_image.h"

namespace swipr::agent {

// Its addresses are those of this object, which must not move.
class FakePython : public FakeImage {
 public:
  explicit FakePython(unsigned minor, unsigned micro = 2)
      : version_(3u << 24 | minor << 16 | micro << 8) {
    if (const auto* const layout = runtimes::find_python_layout(minor); layout != nullptr) {
      add_member("co_name", layout->code_name);
      add_member("co_filename", layout->code_file);
      add_member("co_firstlineno", layout->code_first_line);
      add_member("co_consts", layout->code_constants);
      add_member("co_qualname", layout->code_qualified_name);
    }
    members_.resize(members_.size() + kMemberWords);  // the end of the list
    relocate();
    add_symbol("_PyRuntime", &runtime_);
    add_symbol("Py_Version", &version_);
    add_symbol("PyCode_Type", code_type_.data());
    finish();
  }
  // An image that is no interpreter.
  FakePython() {
    add_symbol("main", &runtime_);
    finish();
  }
  std::uint64_t runtime() const { return address_of(&runtime_); }
  // As a loader does, and as the image was before.
  void relocate() { code_type_[kTypeMembers] = address_of(members_.data()); }
  void undo_relocation() { code_type_[kTypeMembers] = 0; }

 private:
  static constexpr std::size_t kTypeMembers = 240 / 8;
  static constexpr std::size_t kMemberWords = 5;

  void add_member(std::string_view name, std::uint64_t offset) {
    texts_.emplace_back(name);
    const std::array<std::uint64_t, kMemberWords> member = {address_of(texts_.back().c_str()), 0,
                                                            offset};
    members_.insert(members_.end(), member.begin(), member.end());
  }
  std::uint64_t runtime_ = 0;
  std::uint32_t version_ = 0;
  std::array<std::uint64_t, 64> code_type_{};
  std::vector<std::uint64_t> members_;
  std::deque<std::string> texts_;
};

}  // namespace swipr::agent
