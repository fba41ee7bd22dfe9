// The distinct functions of language runtimes that stacks refer to. Shared by all recordings: a
// number means the same function in each of them. Memory is bounded; functions beyond the bounds
// have no number, and that there are any is remembered.
// Context: control thread.  Allocates: grows with the functions, up to kMaxTextBytes and the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/core/runtime_frame.h"
#include "preload/agent/base/mapped_memory.h"

namespace swipr::agent {

struct LanguageFunction {
  Language language = Language::kNative;
  std::string_view name{};
  std::string_view file{};
  std::uint32_t start_line = 0;
  bool is_lost = false;       // gone before its name could be read
  bool is_collector = false;  // no function: the runtime collects garbage

  friend bool operator==(const LanguageFunction&, const LanguageFunction&) = default;
};

class FunctionTable {
 public:
  static constexpr std::size_t kMaxFunctions = 65'535;
  static constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

  // Its number, from 1; 0: it does not fit, or there is no memory.
  std::uint32_t intern(const LanguageFunction& function) noexcept;
  // Lifetime of the texts: until the next intern().
  LanguageFunction function(std::uint32_t number) const noexcept;
  // True once a function has got no number.
  bool has_left_out() const noexcept { return has_left_out_; }
  // No recording is left.
  void release() noexcept;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t text = 0;  // position of the name, which the file follows
    std::uint32_t name_bytes = 0;
    std::uint32_t file_bytes = 0;
    std::uint32_t start_line = 0;
    Language language = Language::kNative;
    bool is_lost = false;
    bool is_collector = false;
  };
  static constexpr std::size_t kFirstIndexEntries = 1024;  // a page

  std::uint32_t find_or_add(const LanguageFunction& function) noexcept;
  bool grow_index() noexcept;  // makes room for one more; false: no memory
  void enter(std::uint32_t number) noexcept;
  std::size_t mask() const noexcept { return index_.size() - 1; }
  std::uint32_t add(const LanguageFunction& function, std::uint64_t hash) noexcept;

  MappedArray<std::uint32_t> index_;  // by hash: numbers; 0: free. At most half full
  MappedArray<Entry> entries_;        // by number − 1
  MappedArray<char> texts_;
  bool is_full_ = false;
  bool has_left_out_ = false;
};

}  // namespace swipr::agent
