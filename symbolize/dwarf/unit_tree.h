// The functions in the tree of one unit, read directly from .debug_info. About one entry in a
// hundred is needed, and libdw takes ten times as long to skip the others.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbolize/base/work_limit.h"
#include "symbolize/dwarf/abbreviations.h"
#include "symbolize/dwarf/dwarf_sections.h"

namespace swipr::symbolize {

// A stored value. Values that are not numbers have only a form.
struct RawValue {
  std::uint64_t number = 0;
  std::uint16_t form = 0;  // 0: the attribute is absent
  explicit operator bool() const { return form != 0; }
};

// A subprogram or an inlined subroutine.
struct FunctionDie {
  std::uint64_t offset = 0;  // in .debug_info
  bool inlined = false;
  RawValue low_pc, high_pc, ranges, entry_pc, origin, call_file, call_line;
};

class UnitTree {
 public:
  // None: damaged. Lifetime: that of the Dwarf of `unit`, and of `sections`, which are its.
  static std::optional<UnitTree> open(const Dwarf_Die& unit, const DwarfSections& sections,
                                      WorkLimit& limit);

  const UnitFormat& format() const { return format_; }
  std::uint64_t offset() const { return begin_; }  // in .debug_info
  bool contains(std::uint64_t offset) const {
    return offset - begin_ - root_ < bytes_.size() - root_;
  }
  std::size_t memory_bytes() const { return abbreviations_.memory_bytes(); }

  // Calls `visit(function, depth, parent)` for each function, outer ones first. Its result is
  // passed as the parent of inner ones. Returns false on damage or at the limit.
  template <typename Visit>
  bool walk(std::uint32_t root, const Visit& visit, WorkLimit& limit) const;

  // For an offset that walk() has visited.
  FunctionDie function_at(std::uint64_t offset) const;
  // For libdw.
  Dwarf_Die die_at(std::uint64_t offset) const;

 private:
  enum class Kind : std::uint8_t { kOther, kContainer, kFunction, kInlined };
  static constexpr std::size_t kMaxDepth = 256;  // of the tree; real ones reach about 60
  struct Level {
    std::uint32_t parent;
    bool is_looked_through;  // functions are below
  };

  UnitTree() = default;
  static Kind kind_of(std::uint16_t tag);
  FunctionDie read_function(ByteCursor& cursor, const Abbreviation& entry,
                            std::uint64_t* sibling) const;
  void skip_values(ByteCursor& cursor, const Abbreviation& entry, std::uint64_t* sibling) const;
  RawValue read_value(ByteCursor& cursor, const AttributeSpec& spec) const;

  Dwarf_Die unit_{};
  std::span<const std::byte> bytes_;  // of the unit, header included
  std::uint64_t begin_ = 0;           // of these in .debug_info
  std::uint64_t root_ = 0;            // of the unit's own entry in `bytes_`
  UnitFormat format_;
  Abbreviations abbreviations_;
};

template <typename Visit>
bool UnitTree::walk(std::uint32_t root, const Visit& visit, WorkLimit& limit) const {
  ByteCursor cursor(bytes_.subspan(root_));
  std::vector<Level> levels = {{root, true}};  // of what is read next; the first: the unit itself
  bool is_unit = true;
  while (!cursor.at_end() && !levels.empty()) {
    if (limit.step()) return false;
    const std::uint64_t at = root_ + cursor.position();
    const std::uint64_t code = cursor.uleb();
    if (code == 0) {
      levels.pop_back();
      if (levels.size() <= 1) break;
      continue;
    }
    const Abbreviation* entry = abbreviations_.find(code);
    if (entry == nullptr) return false;
    Level below = levels.back();
    std::uint64_t sibling = 0;
    const Kind kind = is_unit ? Kind::kContainer : kind_of(entry->tag);
    const bool is_function = kind == Kind::kFunction || kind == Kind::kInlined;
    if (is_function && below.is_looked_through) {
      FunctionDie function = read_function(cursor, *entry, &sibling);
      function.offset = begin_ + at;
      function.inlined = kind == Kind::kInlined;
      below.parent = visit(function, static_cast<int>(levels.size()) - 2, below.parent);
    } else {
      skip_values(cursor, *entry, &sibling);
    }
    if (cursor.failed()) return false;
    below.is_looked_through = below.is_looked_through && kind != Kind::kOther;
    if (is_unit && !entry->has_children) break;
    is_unit = false;
    if (!below.is_looked_through && entry->has_children && sibling != 0) {
      // Only forward references are followed; a cycle would never end.
      const std::uint64_t here = root_ + cursor.position();
      if (sibling < here || sibling > bytes_.size()) return false;
      cursor.skip(sibling - here);
    } else if (entry->has_children) {
      if (levels.size() > kMaxDepth) return false;
      levels.push_back(below);
    }
  }
  return true;
}

}  // namespace swipr::symbolize
