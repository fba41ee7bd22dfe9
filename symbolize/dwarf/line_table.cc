#include "symbolize/dwarf/line_table.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxRows = std::size_t{1} << 23;
constexpr std::size_t kMaxFiles = std::size_t{1} << 20;

std::string_view text_at(ByteCursor& cursor) {
  const auto rest = cursor.rest();
  const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) {
    cursor.fail();
    return {};
  }
  const char* begin = reinterpret_cast<const char*>(rest.data());
  const std::string_view text(begin,
                              static_cast<std::size_t>(static_cast<const char*>(end) - begin));
  cursor.skip(text.size() + 1);
  return text;
}

std::string_view text_in(std::span<const std::byte> section, std::uint64_t offset) {
  if (offset >= section.size()) return {};
  ByteCursor cursor(section.subspan(offset));
  return text_at(cursor);
}

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

}  // namespace

// The machine that a line program runs on.
class LineTable::Program {
 public:
  Program(LineTable& table, const Header& header, const ElfFile& image, WorkLimit& limit)
      : table_(&table), header_(&header), image_(&image), limit_(&limit) {}

  void run(ByteCursor cursor) {
    const auto opcode_base = static_cast<unsigned>(header_->operand_counts.size()) + 1;
    while (!cursor.at_end() && table_->rows_.size() < kMaxRows && !limit_->step()) {
      const std::uint8_t opcode = cursor.u8();
      if (opcode >= opcode_base) {
        special(opcode - opcode_base);
      } else if (opcode == 0) {
        extended(cursor);
      } else {
        standard(opcode, cursor);
      }
      if (cursor.failed()) break;
    }
    table_->rows_.resize(first_);  // a sequence without an end covers nothing
  }

 private:
  void special(unsigned adjusted) {
    address_ += std::uint64_t{adjusted / header_->line_range} * header_->instruction_bytes;
    move_line(header_->line_base + static_cast<int>(adjusted % header_->line_range));
    append();
  }

  void standard(std::uint8_t opcode, ByteCursor& cursor) {
    switch (opcode) {
      case DW_LNS_copy:
        return append();
      case DW_LNS_advance_pc:
        address_ += cursor.uleb() * header_->instruction_bytes;
        return;
      case DW_LNS_advance_line:
        return move_line(cursor.sleb());
      case DW_LNS_set_file:
        file_ = static_cast<std::uint32_t>(cursor.uleb());
        return;
      case DW_LNS_const_add_pc: {
        const auto opcode_base = static_cast<unsigned>(header_->operand_counts.size()) + 1;
        address_ +=
            std::uint64_t{(255 - opcode_base) / header_->line_range} * header_->instruction_bytes;
        return;
      }
      case DW_LNS_fixed_advance_pc:
        address_ += cursor.fixed<std::uint16_t>();
        return;
      default:
        for (auto left = std::to_integer<unsigned>(header_->operand_counts[opcode - 1u]); left > 0;
             --left) {
          cursor.uleb();
        }
    }
  }

  void extended(ByteCursor& cursor) {
    ByteCursor operands(cursor.take(cursor.uleb()));
    if (operands.at_end()) return;
    switch (operands.u8()) {
      case DW_LNE_end_sequence:
        table_->end_sequence(first_, address_, *image_);
        first_ = table_->rows_.size();
        address_ = 0;
        file_ = line_ = 1;
        break;
      case DW_LNE_set_address:
        address_ = read_number(
            operands, static_cast<std::uint8_t>(std::min<std::size_t>(operands.remaining(), 8)));
        break;
      case DW_LNE_define_file:
        table_->read_old_file(operands);
        break;
      default:
        break;
    }
  }

  void move_line(std::int64_t distance) { line_ += static_cast<std::uint32_t>(distance); }

  // Rows for breakpoints, columns and views change nothing here.
  void append() {
    std::vector<Row>& rows = table_->rows_;
    const bool has_last = rows.size() > first_;
    if (has_last && rows.back().address == address_) {
      rows.back() = {address_, file_, line_};
    } else if (!has_last || rows.back().file != file_ || rows.back().line != line_ ||
               address_ < rows.back().address) {
      rows.push_back({address_, file_, line_});
    }
  }

  LineTable* table_;
  const Header* header_;
  const ElfFile* image_;
  WorkLimit* limit_;
  std::size_t first_ = 0;  // row of the sequence
  std::uint64_t address_ = 0;
  std::uint32_t file_ = 1;
  std::uint32_t line_ = 1;
};

LineTable::LineTable(const DwarfSections& sections, std::uint64_t offset, std::string_view folder,
                     const ElfFile& image, WorkLimit& limit) {
  if (offset >= sections.line.size()) return;
  ByteCursor cursor(sections.line.subspan(offset));
  Header header;
  folders_.push_back({folder, 0});
  if (!read_header(cursor, &header, sections, limit)) return;
  Program(*this, header, image, limit).run(cursor);
  std::stable_sort(
      sequences_.begin(), sequences_.end(),
      [](const Sequence& left, const Sequence& right) { return left.begin < right.begin; });
}

// Leaves the program in `cursor`.
bool LineTable::read_header(ByteCursor& cursor, Header* header, const DwarfSections& sections,
                            WorkLimit& limit) {
  constexpr std::uint32_t kLongOffsets = 0xFFFFFFFFu;
  std::uint64_t bytes = cursor.fixed<std::uint32_t>();
  header->format.offset_bytes = bytes == kLongOffsets ? 8 : 4;
  if (bytes == kLongOffsets) bytes = cursor.fixed<std::uint64_t>();
  ByteCursor table(cursor.take(bytes));
  header->format.version = table.fixed<std::uint16_t>();
  if (header->format.version < 2 || header->format.version > 5) return false;
  const bool is_old = header->format.version < 5;
  if (!is_old) {
    header->format.address_bytes = table.u8();
    table.u8();  // of a segment selector
  }
  ByteCursor rest(table.take(read_number(table, header->format.offset_bytes)));
  header->instruction_bytes = rest.u8();
  if (header->format.version >= 4) rest.u8();  // operations per instruction: x86 has one
  rest.u8();                                   // whether lines are statements by default
  header->line_base = static_cast<std::int8_t>(rest.u8());
  header->line_range = rest.u8();
  const std::uint8_t opcode_base = rest.u8();
  if (opcode_base == 0 || header->line_range == 0) return false;
  header->operand_counts = rest.take(opcode_base - 1u);
  cursor = table;
  if (is_old) return read_old_files(rest, limit);
  folders_.clear();
  return read_entries(rest, header->format, sections, &folders_, limit) &&
         read_entries(rest, header->format, sections, &files_, limit);
}

bool LineTable::read_old_files(ByteCursor& cursor, WorkLimit& limit) {
  while (folders_.size() < kMaxFiles && !limit.step()) {
    const std::string_view folder = text_at(cursor);
    if (folder.empty()) break;
    folders_.push_back({folder, 0});
  }
  files_.push_back({});  // they are numbered from 1
  while (read_old_file(cursor) && !limit.step()) {
  }
  return !cursor.failed();
}

bool LineTable::read_old_file(ByteCursor& cursor) {
  File file;
  file.name = text_at(cursor);
  if (file.name.empty() || files_.size() >= kMaxFiles) return false;
  file.folder = cursor.uleb();
  cursor.uleb();  // when it was changed
  cursor.uleb();  // its size
  files_.push_back(file);
  return !cursor.failed();
}

bool LineTable::read_entries(ByteCursor& cursor, const UnitFormat& format,
                             const DwarfSections& sections, std::vector<File>* entries,
                             WorkLimit& limit) {
  struct Part {
    std::uint64_t content, form;
    ValueLayout layout;
  };
  std::vector<Part> parts;
  for (unsigned left = cursor.u8(); left > 0; --left) {
    const std::uint64_t content = cursor.uleb();
    const std::uint64_t form = cursor.uleb();
    const auto layout = find_layout(form, format);
    if (!layout) return false;
    parts.push_back({content, form, *layout});
  }
  const std::uint64_t count = cursor.uleb();
  if (count > kMaxFiles) return false;
  for (std::uint64_t index = 0; index < count && !cursor.failed() && !limit.step(); ++index) {
    File file;
    for (const Part& part : parts) {
      const bool is_number = part.layout.shape == ValueShape::kFixed && part.layout.bytes <= 8;
      if (part.form == DW_FORM_string) {
        const std::string_view text = text_at(cursor);
        if (part.content == DW_LNCT_path) file.name = text;
      } else if (part.content == DW_LNCT_path && is_number) {
        const std::uint64_t offset = read_number(cursor, part.layout.bytes);
        if (part.form == DW_FORM_line_strp) file.name = text_in(sections.line_str, offset);
        if (part.form == DW_FORM_strp) file.name = text_in(sections.str, offset);
      } else if (part.content == DW_LNCT_directory_index && is_number) {
        file.folder = read_number(cursor, part.layout.bytes);
      } else if (part.content == DW_LNCT_directory_index && part.form == DW_FORM_udata) {
        file.folder = cursor.uleb();
      } else {
        skip_value(cursor, part.layout, format);
      }
    }
    entries->push_back(file);
  }
  return !cursor.failed();
}

void LineTable::end_sequence(std::size_t first, std::uint64_t end, const ElfFile& image) {
  const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto is_before = [](const Row& left, const Row& right) {
    return left.address < right.address;
  };
  if (!std::is_sorted(begin, rows_.end(), is_before)) {
    std::stable_sort(begin, rows_.end(), is_before);
  }
  if (begin == rows_.end() || begin->address >= end || !image.is_code({begin->address})) {
    rows_.resize(first);
    return;
  }
  sequences_.push_back({begin->address, end, static_cast<std::uint32_t>(first),
                        static_cast<std::uint32_t>(rows_.size() - first)});
}

const LineTable::Row* LineTable::find(ImageAddr address) const {
  const auto next = std::upper_bound(
      sequences_.begin(), sequences_.end(), address.value,
      [](std::uint64_t wanted, const Sequence& sequence) { return wanted < sequence.begin; });
  if (next == sequences_.begin()) return nullptr;
  const Sequence& sequence = *std::prev(next);
  if (address.value >= sequence.end) return nullptr;
  const auto rows = std::span(rows_).subspan(sequence.first, sequence.count);
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), address.value,
                       [](std::uint64_t wanted, const Row& row) { return wanted < row.address; });
  return after == rows.begin() ? nullptr : &*std::prev(after);
}

std::string LineTable::path_of(std::size_t index) const {
  if (index >= files_.size()) return {};
  const File& file = files_[index];
  if (file.name.empty() || is_absolute(file.name) || file.folder >= folders_.size()) {
    return std::string(file.name);
  }
  const std::string_view folder = folders_[file.folder].name;
  std::string path;
  if (!folder.empty()) path.append(folder).append("/");
  return path.append(file.name);
}

std::vector<LineTable::Row> LineTable::find_line(std::string_view file, std::uint32_t line) const {
  std::vector<bool> is_wanted(files_.size());
  for (std::size_t index = 0; index < files_.size(); ++index) {
    const std::string path = path_of(index);
    if (!path.ends_with(file)) continue;
    const std::size_t before = path.size() - file.size();
    is_wanted[index] = before == 0 || path[before - 1] == '/';
  }
  std::vector<Row> found;
  for (const Row& row : rows_) {
    if (row.file >= is_wanted.size() || !is_wanted[row.file] || row.line < line) continue;
    if (!found.empty() && row.line > found.front().line) continue;
    if (!found.empty() && row.line < found.front().line) found.clear();
    found.push_back(row);
  }
  return found;
}

}  // namespace swipr::symbolize
