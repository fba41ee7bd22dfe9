#include "symbolize/elf/go_functions.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace swipr::symbolize {
namespace {

constexpr std::uint32_t kMagic118 = 0xFFFFFFF0;
constexpr std::uint32_t kMagic120 = 0xFFFFFFF1;
constexpr std::size_t kGoHeaderBytes = 72;
constexpr std::size_t kTableAlignment = 8;
constexpr std::size_t kFunctabEntry = 8;    // two numbers of 4 bytes
constexpr std::size_t kModuleText = 176;    // `text` in moduledata, Go 1.20 to 1.27
constexpr std::size_t kModuleGoFunc = 320;  // … `gofunc`
constexpr std::size_t kRecordBytes = 44;    // _func, from Go 1.20 on; numbers of 4 bytes follow:
constexpr std::uint32_t kInlinedIndex = 2;  // … PCDATA_InlTreeIndex among the first
constexpr std::uint32_t kInlinedCalls = 3;  // … FUNCDATA_InlTree among the others
constexpr std::size_t kInlinedBytes = 16;   // inlinedCall
constexpr std::size_t kMostRelocations = std::size_t{1} << 22;

bool is_known(std::uint32_t magic) { return magic == kMagic118 || magic == kMagic120; }

template <typename T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t offset) {
  if (bytes.size() < sizeof(T) || offset > bytes.size() - sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view rest_at(std::string_view bytes, std::uint64_t offset) {
  return offset < bytes.size() ? bytes.substr(offset) : std::string_view();
}

// Empty: it does not end.
std::string_view text_at(std::string_view bytes, std::uint64_t offset) {
  const std::string_view rest = rest_at(bytes, offset);
  const std::size_t end = rest.find('\0');
  return end == rest.npos ? std::string_view() : rest.substr(0, end);
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80u) == 0) return value;
  }
  bytes = {};
  return 0;
}

// Position-independent programs: the linker leaves addresses to R_X86_64_RELATIVE relocations.
// The first for which `found` is true.
template <typename Found>
std::optional<GElf_Rela> find_relocation(Elf* elf, Found found) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) continue;
    const std::size_t count = std::min(data->d_size / header.sh_entsize, kMostRelocations);
    for (std::size_t index = 0; index < count; ++index) {
      GElf_Rela relocation;
      if (gelf_getrela(data, static_cast<int>(index), &relocation) == nullptr) break;
      if (found(relocation)) return relocation;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> relocated(Elf* elf, std::uint64_t address) {
  const auto found = find_relocation(
      elf, [address](const GElf_Rela& relocation) { return relocation.r_offset == address; });
  if (!found) return std::nullopt;
  return static_cast<std::uint64_t>(found->r_addend);
}

// External linkers put it among other data of position-independent programs.
ElfFile::Section find_table(const ElfFile& file) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const ElfFile::Section own = file.section(name);
    if (!own.bytes.empty()) return own;
  }
  if (file.section(".go.buildinfo").bytes.empty()) return {};
  const ElfFile::Section all = file.section(".data.rel.ro");
  for (std::uint64_t offset = 0; offset + kGoHeaderBytes <= all.bytes.size();
       offset += kTableAlignment) {
    const std::string_view head = all.bytes.substr(offset, kGoHeaderBytes);
    const auto magic = read_at<std::uint32_t>(head, 0);
    if (magic && is_known(*magic) && head[4] == 0 && head[5] == 0 &&
        head[7] == sizeof(std::uint64_t)) {
      return {all.bytes.substr(offset), {all.address.value + offset}};
    }
  }
  return {};
}

// The pointer at `offset` of a section, as it is once the program is loaded at its link address.
std::uint64_t pointer_at(const ElfFile& file, const ElfFile::Section& section,
                         std::uint64_t offset) {
  const std::uint64_t stored = read_at<std::uint64_t>(section.bytes, offset).value_or(0);
  if (stored != 0 || section.bytes.empty()) return stored;
  return relocated(file.elf(), section.address.value + offset).value_or(0);
}

// moduledata begins with a pointer to the table's header and has the begin of the text. Its section
// from there on; empty: not found.
ElfFile::Section find_module_data(const ElfFile& file, std::uint64_t table, std::uint64_t text) {
  ElfFile::Section own = file.section(".go.module");  // from Go 1.26 on
  if (!own.bytes.empty()) return own;
  for (const char* name : {".noptrdata", ".data"}) {
    own = file.section(name);
    for (std::uint64_t offset = 0; offset < own.bytes.size(); offset += sizeof table) {
      if (read_at<std::uint64_t>(own.bytes, offset) == table &&
          read_at<std::uint64_t>(own.bytes, offset + kModuleText) == text) {
        return {own.bytes.substr(offset), {own.address.value + offset}};
      }
    }
  }
  const auto header = find_relocation(file.elf(), [&](const GElf_Rela& relocation) {
    return static_cast<std::uint64_t>(relocation.r_addend) == table &&
           relocated(file.elf(), relocation.r_offset + kModuleText) == text;
  });
  if (!header) return {};
  own = file.section_at({header->r_offset});
  return {rest_at(own.bytes, header->r_offset - own.address.value), {header->r_offset}};
}

}  // namespace

GoFunctions GoFunctions::read(const ElfFile& file) {
  GoFunctions result;
  const ElfFile::Section table = find_table(file);
  const auto magic = read_at<std::uint32_t>(table.bytes, 0);
  if (!magic || !is_known(*magic)) return result;
  // The magic number, two bytes of padding, the quantum and the size of pointers; numbers of
  // functions and files; the begin of the text; offsets of the tables.
  const auto header = read_at<std::array<std::uint64_t, 9>>(table.bytes, 0);
  if (!header) return result;
  const auto quantum = static_cast<std::uint8_t>(table.bytes[6]);
  const auto pointer_bytes = static_cast<std::uint8_t>(table.bytes[7]);
  if (quantum == 0 || pointer_bytes != sizeof(std::uint64_t)) return result;
  const auto& [head, count, file_count, text, names, units, files, values, functions] = *header;
  result.names_ = rest_at(table.bytes, names);
  result.units_ = rest_at(table.bytes, units);
  result.files_ = rest_at(table.bytes, files);
  result.values_ = rest_at(table.bytes, values);
  result.functions_ = rest_at(table.bytes, functions);
  result.quantum_ = quantum;
  result.has_start_lines_ = magic == kMagic120;
  // From Go 1.26 on the header does not have it.
  result.text_ = pointer_at(file, table, 3 * sizeof(std::uint64_t));
  if (result.text_ == 0) result.text_ = pointer_at(file, file.section(".go.module"), kModuleText);
  // After the last function stands where it ends.
  const std::uint64_t room = result.functions_.size() / kFunctabEntry;
  if (result.text_ != 0 && count < room) result.count_ = count;
  if (!result.has_start_lines_ || result.count_ == 0) return result;
  const ElfFile::Section module = find_module_data(file, table.address.value, result.text_);
  const ImageAddr inlined{pointer_at(file, module, kModuleGoFunc)};
  const ElfFile::Section data = file.section_at(inlined);
  result.inlined_ = rest_at(data.bytes, inlined.value - data.address.value);
  return result;
}

std::optional<std::uint64_t> GoFunctions::find_entry(std::uint64_t offset) const {
  const auto begin = [this](std::uint64_t entry) {
    return std::uint64_t{*read_at<std::uint32_t>(functions_, entry * kFunctabEntry)};
  };
  std::uint64_t low = 0;
  std::uint64_t high = count_;  // the first that begins above the offset lies in [low, high]
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (begin(middle) <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0 || offset >= begin(low)) return std::nullopt;
  return low - 1;
}

std::optional<GoFunctions::Record> GoFunctions::record(std::uint64_t entry) const {
  const auto place = read_at<std::uint32_t>(functions_, entry * kFunctabEntry + 4);
  // entryOff, nameOff, args, deferreturn, pcsp, pcfile, pcln, npcdata, cuOffset, startLine
  const auto fields =
      place ? read_at<std::array<std::uint32_t, 10>>(functions_, *place) : std::nullopt;
  if (!fields) return std::nullopt;
  Record record{.name = (*fields)[1],
                .files = (*fields)[5],
                .lines = (*fields)[6],
                .unit = (*fields)[8],
                .start_line = has_start_lines_ ? (*fields)[9] : 0};
  const std::uint64_t lists = *place + std::uint64_t{kRecordBytes};
  const std::uint32_t first_count = (*fields)[7];
  const auto second_count = read_at<std::uint8_t>(functions_, lists - 1);
  if (inlined_.empty() || first_count <= kInlinedIndex || second_count <= kInlinedCalls) {
    return record;
  }
  const auto number_at = [&](std::uint64_t index) {
    return read_at<std::uint32_t>(functions_, lists + index * sizeof(std::uint32_t));
  };
  record.calls = number_at(kInlinedIndex).value_or(0);
  record.inlined = number_at(std::uint64_t{first_count} + kInlinedCalls).value_or(kNone);
  return record;
}

std::optional<GoFunctions::InlinedCall> GoFunctions::find_inlined(const Record& record,
                                                                  std::uint64_t offset) const {
  if (record.calls == 0 || record.inlined == kNone) return std::nullopt;
  const std::int32_t index = value_at(record.calls, offset);
  if (index < 0) return std::nullopt;
  // funcID and padding, nameOff, parentPc, startLine
  const auto fields = read_at<std::array<std::uint32_t, 4>>(
      inlined_, record.inlined + std::uint64_t{kInlinedBytes} * static_cast<std::uint32_t>(index));
  if (!fields) return std::nullopt;
  const auto& [id, name, caller, start_line] = *fields;
  return InlinedCall{text_at(names_, name), caller, start_line};
}

std::int32_t GoFunctions::value_at(std::uint32_t table, std::uint64_t offset) const {
  std::string_view steps = rest_at(values_, table);
  std::uint64_t end = 0;
  std::uint32_t value = ~0u;
  for (std::uint32_t step = 0; step < kMaxSteps && !steps.empty(); ++step) {
    const auto change = static_cast<std::uint32_t>(take_varint(steps));
    if (change == 0 && step != 0) break;
    value += (change & 1) != 0 ? ~(change >> 1) : change >> 1;
    end += take_varint(steps) * quantum_;
    if (offset < end) return static_cast<std::int32_t>(value);
  }
  return -1;
}

std::string_view GoFunctions::file_name(const Record& record, std::int32_t number) const {
  if (number < 0) return {};
  const std::uint64_t slot = std::uint64_t{record.unit} + static_cast<std::uint32_t>(number);
  const auto place = read_at<std::uint32_t>(units_, slot * sizeof(std::uint32_t));
  return place && *place != ~0u ? text_at(files_, *place) : std::string_view();
}

std::vector<GoFunctions::Function> GoFunctions::find(ImageAddr address) const {
  if (count_ == 0 || address.value < text_) return {};
  const auto entry = find_entry(address.value - text_);
  const auto found = entry ? record(*entry) : std::nullopt;
  if (!found || text_at(names_, found->name).empty()) return {};
  const std::uint64_t begin = text_ + *read_at<std::uint32_t>(functions_, *entry * kFunctabEntry);
  std::vector<Function> functions;
  std::uint64_t offset = address.value - begin;
  for (unsigned depth = 0; depth <= kMaxInlined; ++depth) {
    const auto call = find_inlined(*found, offset);
    const bool is_inlined = call && !call->name.empty() && depth < kMaxInlined;
    Function& function = functions.emplace_back();
    function.begin = {begin};
    function.name = is_inlined ? call->name : text_at(names_, found->name);
    function.file = file_name(*found, value_at(found->files, offset));
    const std::int32_t line = value_at(found->lines, offset);
    function.line = line > 0 && !function.file.empty() ? static_cast<std::uint32_t>(line) : 0;
    function.start_line = is_inlined ? call->start_line : found->start_line;
    if (!is_inlined) break;
    offset = call->caller;
  }
  return functions;
}

}  // namespace swipr::symbolize
