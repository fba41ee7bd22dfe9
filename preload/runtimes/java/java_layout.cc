#include "preload/runtimes/java/java_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "preload/runtimes/java/java_counters.h"
#include "preload/runtimes/java/java_fields.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

constexpr unsigned kMaxDescriptions = 8192;
constexpr std::size_t kMaxEntryBytes = 128;
constexpr std::size_t kTextBytes = 64;  // longer names are of no field that is looked for

// One of the VM's tables: entries of `stride` bytes, in which the fields lie where variables say.
class DescriptionTable {
 public:
  DescriptionTable(std::uint64_t begin, std::uint64_t stride, unwind::ImageReader reader) noexcept
      : next_(begin), stride_(stride), reader_(reader) {}

  // False: the end, or unreadable.
  bool next() noexcept {
    if (count_++ == kMaxDescriptions) return false;
    if (!reader_.read(reader_.state, next_,
                      std::as_writable_bytes(std::span(bytes_)).first(stride_)))
      return false;
    next_ += stride_;
    return true;
  }
  template <typename T>
  T at(std::uint64_t offset) const noexcept {
    T value{};
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

 private:
  std::uint64_t next_;
  std::uint64_t stride_;
  unwind::ImageReader reader_;
  unsigned count_ = 0;
  std::array<char, kMaxEntryBytes> bytes_;
};

class JavaDetector {
 public:
  JavaDetector(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
               unwind::ImageReader reader) noexcept
      : dynamic_(dynamic), load_bias_(load_bias), reader_(reader) {}

  JavaDetection run() noexcept {
    if (find("gHotSpotVMStructs") == 0) return found_;
    found_.state = DetectionState::kStarting;
    if (!read_fields() || !read_types()) return found_;
    found_.state = DetectionState::kRefused;
    found_.reason = find_missing();
    found_.is_field_missing = found_.reason != nullptr;
    if (found_.reason == nullptr) found_.state = DetectionState::kFound;
    return found_;
  }

 private:
  std::uint64_t find(std::string_view name) const noexcept {
    return unwind::find_exported(dynamic_, load_bias_, name, reader_);
  }
  // The value of an exported variable; 0: it has none.
  std::uint64_t value_of(std::string_view name) const noexcept {
    std::uint64_t value = 0;
    const std::uint64_t at = find(name);
    return at != 0 && reader_.read_value(at, value) ? value : 0;
  }
  // An offset in an entry of `stride` bytes; false: a word there would be outside.
  bool read_entry_offset(std::string_view name, std::uint64_t stride,
                         std::uint64_t& out) const noexcept {
    const std::uint64_t at = find(name);
    return at != 0 && reader_.read_value(at, out) && out <= stride - sizeof out;
  }
  static bool is_stride(std::uint64_t stride) noexcept {
    return stride >= 16 && stride <= kMaxEntryBytes;
  }

  // False: the variables are not set yet.
  bool read_fields() noexcept {
    const std::uint64_t begin = value_of("gHotSpotVMStructs");
    const std::uint64_t stride = value_of("gHotSpotVMStructEntryArrayStride");
    std::uint64_t type = 0, field = 0, is_static = 0, offset = 0, address = 0;
    if (begin == 0 || !is_stride(stride) ||
        !read_entry_offset("gHotSpotVMStructEntryTypeNameOffset", stride, type) ||
        !read_entry_offset("gHotSpotVMStructEntryFieldNameOffset", stride, field) ||
        !read_entry_offset("gHotSpotVMStructEntryIsStaticOffset", stride, is_static) ||
        !read_entry_offset("gHotSpotVMStructEntryOffsetOffset", stride, offset) ||
        !read_entry_offset("gHotSpotVMStructEntryAddressOffset", stride, address)) {
      return false;
    }
    DescriptionTable table(begin, stride, reader_);
    while (table.next() && read_text(table.at<std::uint64_t>(type), type_) &&
           read_text(table.at<std::uint64_t>(field), field_)) {
      if (table.at<std::uint32_t>(is_static) != 0) {
        set_static(table.at<std::uint64_t>(address));
      } else {
        set_offset(table.at<std::uint64_t>(offset));
      }
    }
    return true;
  }
  bool read_types() noexcept {
    const std::uint64_t begin = value_of("gHotSpotVMTypes");
    const std::uint64_t stride = value_of("gHotSpotVMTypeEntryArrayStride");
    std::uint64_t type = 0, bytes = 0;
    if (begin == 0 || !is_stride(stride) ||
        !read_entry_offset("gHotSpotVMTypeEntryTypeNameOffset", stride, type) ||
        !read_entry_offset("gHotSpotVMTypeEntrySizeOffset", stride, bytes)) {
      return false;
    }
    DescriptionTable table(begin, stride, reader_);
    while (table.next() && read_text(table.at<std::uint64_t>(type), type_)) {
      for (const DescribedType& known : kTypes) {
        if (text(type_) == known.name) set(known.bytes, table.at<std::uint64_t>(bytes));
      }
    }
    return true;
  }

  // A layout comes from the process: what is too large is none.
  void set(std::uint32_t JavaLayout::*member, std::uint64_t value) noexcept {
    constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 16;
    if (value < kTooLarge) found_.runtime.layout.*member = static_cast<std::uint32_t>(value);
  }
  void set_offset(std::uint64_t offset) noexcept {
    for (const DescribedOffset& known : kOffsets) {
      if (is_described(known.name)) set(known.offset, offset);
    }
  }
  void set_static(std::uint64_t address) noexcept {
    for (const DescribedStatic& known : kStatics) {
      if (is_described(known.name)) found_.runtime.statics.*known.address = address;
    }
  }
  bool is_described(std::string_view name) const noexcept {
    const std::string_view type = text(type_);
    if (name.size() <= type.size() || name[type.size()] != '.' || !name.starts_with(type)) {
      return false;
    }
    name.remove_prefix(type.size() + 1);
    return name == text(field_);
  }

  // False: null or unreadable, which ends a table.
  using Text = std::array<char, kTextBytes>;
  bool read_text(std::uint64_t address, Text& out) const noexcept {
    constexpr std::size_t kStep = 16;
    if (address == 0) return false;
    for (std::size_t i = 0; i < kTextBytes; i += kStep) {
      const auto part = std::span(out).subspan(i, kStep);
      // The text may be the last one on its page.
      if (!reader_.read(reader_.state, address + i, std::as_writable_bytes(part))) return i != 0;
      if (std::find(part.begin(), part.end(), '\0') != part.end()) return true;
    }
    return true;
  }
  static std::string_view text(const Text& bytes) noexcept {
    return {bytes.data(), ::strnlen(bytes.data(), bytes.size())};
  }

  // The name of a required field that is not described; nullptr: all are.
  const char* find_missing() const noexcept {
    const JavaLayout& layout = found_.runtime.layout;
    const JavaStatics& statics = found_.runtime.statics;
    for (const DescribedStatic& known : kStatics) {
      if (known.need == Need::kRequired && statics.*known.address == 0) return known.name;
    }
    for (const DescribedOffset& known : kOffsets) {
      if (known.need == Need::kRequired && layout.*known.offset == kNoJavaField) return known.name;
    }
    for (const DescribedType& known : kTypes) {
      if (layout.*known.bytes == kNoJavaField) return known.name;
    }
    return find_missing_alternative(layout, statics);
  }
  static const char* find_missing_alternative(const JavaLayout& layout,
                                              const JavaStatics& statics) noexcept {
    const auto has = [](std::uint32_t offset) { return offset != kNoJavaField; };
    const bool has_heaps =
        statics.code_heaps != 0 && statics.code_low != 0 && statics.code_high != 0;
    const bool has_heap = statics.code_heap != 0 && has(layout.space_end);
    if (!has_heaps && !has_heap) return "CodeCache._heaps";
    if (!has(layout.blob_code_begin) && !has(layout.blob_code_offset))
      return "CodeBlob._code_offset";
    if (!has(layout.nmethod_scopes_begin) && !has(layout.nmethod_scopes_offset)) {
      return "nmethod._scopes_data_offset";
    }
    if (has(layout.blob_mutable_data) ? !has(layout.blob_relocation_bytes)
                                      : !has(layout.nmethod_metadata)) {
      return "nmethod._metadata_offset";
    }
    if (has(layout.nmethod_immutable_data) && !has(layout.blob_mutable_data) &&
        !has(layout.blob_data_offset)) {
      return "CodeBlob._data_offset";
    }
    if (!has(layout.pool_file) && !has(layout.class_file)) {
      return "ConstantPool._source_file_name_index";
    }
    const bool has_list =
        statics.threads != 0 && has(layout.threads_length) && has(layout.threads_array);
    const bool has_chain = statics.first_thread != 0 && has(layout.thread_next);
    return has_list || has_chain ? nullptr : "ThreadsSMRSupport._java_thread_list";
  }

  Range<std::uint64_t> dynamic_;
  std::uint64_t load_bias_;
  unwind::ImageReader reader_;
  JavaDetection found_;
  Text type_{};
  Text field_{};
};

// A heap that grows commits its memory first, then its map: the memory ends where the map does.
bool read_heap(const JavaLayout& layout, std::uint64_t heap, unwind::ImageReader reader,
               std::uint32_t shift, JavaCodeHeap& out) noexcept {
  std::uint64_t map_end = 0;
  if (shift >= 16 ||
      !reader.read_value(heap + layout.heap_memory + layout.space_low, out.memory.begin) ||
      !reader.read_value(heap + layout.heap_memory + layout.space_high, out.memory.end) ||
      !reader.read_value(heap + layout.heap_segment_map + layout.space_low, out.segment_map) ||
      !reader.read_value(heap + layout.heap_segment_map + layout.space_high, map_end)) {
    return false;
  }
  if (out.memory.begin > out.memory.end || out.segment_map == 0 || map_end < out.segment_map) {
    return false;
  }
  const std::uint64_t mapped = (map_end - out.segment_map) << shift;
  out.memory.end = out.memory.begin + std::min(out.memory.end - out.memory.begin, mapped);
  return true;
}

// Where the addresses of the heaps are.
bool find_heaps(const JavaRuntime& java, unwind::ImageReader reader, std::uint64_t& out,
                std::uint32_t& count) noexcept {
  const JavaLayout& layout = java.layout;
  if (java.statics.code_heap != 0) {
    out = java.statics.code_heap;
    count = 1;
    return true;
  }
  std::uint64_t list = 0;
  return reader.read_value(java.statics.code_heaps, list) && list != 0 &&
         reader.read_value(list + layout.array_length, count) && count != 0 &&
         count <= JavaRuntime::kMaxHeaps && reader.read_value(list + layout.array_data, out);
}

bool read_heaps(JavaRuntime& java, unwind::ImageReader reader) noexcept {
  const JavaLayout& layout = java.layout;
  std::uint64_t heaps = 0;
  std::uint32_t count = 0;
  if (!find_heaps(java, reader, heaps, count)) return false;
  java.heaps = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t heap = 0;
    if (!reader.read_value(heaps + i * sizeof heap, heap) ||
        !reader.read_value(heap + layout.heap_segment_shift, java.segment_shift) ||
        !read_heap(layout, heap, reader, java.segment_shift, java.heaps[i])) {
      return false;
    }
  }
  return true;
}

bool read_code(JavaRuntime& java, unwind::ImageReader reader) noexcept {
  const JavaLayout& layout = java.layout;
  const JavaStatics& statics = java.statics;
  std::uint64_t memory = 0;
  if (statics.code_heap == 0) {
    return reader.read_value(statics.code_low, java.code.begin) &&
           reader.read_value(statics.code_high, java.code.end) && !java.code.empty();
  }
  if (!reader.read_value(statics.code_heap, memory)) return false;
  memory += layout.heap_memory;
  return reader.read_value(memory + layout.space_low, java.code.begin) &&
         reader.read_value(memory + layout.space_end, java.code.end) && !java.code.empty();
}

// The virtual machine of 8, the only one with one heap, has a number of its own, 25.
bool read_version(JavaRuntime& java, unwind::ImageReader reader) noexcept {
  if (java.statics.code_heap == 0) {
    return reader.read_value(java.statics.major_version, java.version);
  }
  java.version = 8;
  return true;
}

bool read_interpreter(JavaRuntime& java, unwind::ImageReader reader) noexcept {
  std::uint64_t queue = 0;
  std::uint32_t limit = 0;
  if (!reader.read_value(java.statics.interpreter, queue) || queue == 0 ||
      !reader.read_value(queue + java.layout.queue_buffer, java.interpreter.begin) ||
      !reader.read_value(queue + java.layout.queue_limit, limit)) {
    return false;
  }
  java.interpreter.end = java.interpreter.begin + limit;
  return !java.interpreter.empty();
}

}  // namespace

JavaDetection detect_java(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                          unwind::ImageReader reader) noexcept {
  return JavaDetector(dynamic, load_bias, reader).run();
}

bool refresh_java(JavaRuntime& java, unwind::ImageReader reader) noexcept {
  JavaRuntime read = java;
  const JavaStatics& statics = java.statics;
  const bool is_ready = read_version(read, reader) && read_code(read, reader) &&
                        reader.read_value(statics.call_stub_return, read.call_stub_return) &&
                        read.call_stub_return != 0 && read_heaps(read, reader) &&
                        read_interpreter(read, reader);
  if (statics.return_barrier != 0) reader.read_value(statics.return_barrier, read.return_barrier);
  const bool was_ready = java.version != 0;
  std::uint64_t counters = 0;
  if (is_ready && !was_ready && statics.counters != 0 &&
      reader.read_value(statics.counters, counters)) {
    read.unloaded_classes = find_java_counter(counters, "java.cls.unloadedClasses", reader);
  }
  if (is_ready) java = read;
  return is_ready;
}

}  // namespace swipr::runtimes
