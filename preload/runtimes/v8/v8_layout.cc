#include "preload/runtimes/v8/v8_layout.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

constexpr std::string_view kMarker = "v8dbg_HeapObjectTag";
constexpr std::string_view kPrefix = "v8dbg_";

enum class Need : bool { kRequired, kOptional };

struct DescribedConstant {
  const char* name;  // its beginning: of several names with it the first decides
  std::int32_t V8Layout::*value;
  Need need = Need::kRequired;
};

constexpr std::array kConstants = {
    DescribedConstant{"v8dbg_TaggedSizeLog2", &V8Layout::tagged_shift},
    DescribedConstant{"v8dbg_SmiShiftSize", &V8Layout::small_integer_shift},
    DescribedConstant{"v8dbg_off_fp_context_or_frame_type", &V8Layout::frame_context},
    DescribedConstant{"v8dbg_off_fp_function", &V8Layout::frame_function},
    DescribedConstant{"v8dbg_off_fp_bytecode_array", &V8Layout::frame_bytecode},
    DescribedConstant{"v8dbg_off_fp_bytecode_offset", &V8Layout::frame_position},
    DescribedConstant{"v8dbg_class_Map__instance_type__", &V8Layout::map_type},
    DescribedConstant{"v8dbg_type_JSFunction__", &V8Layout::first_function_type},
    DescribedConstant{"v8dbg_LastJSFunctionType", &V8Layout::last_function_type, Need::kOptional},
    DescribedConstant{"v8dbg_class_JSFunction__shared__", &V8Layout::function_shared},
    DescribedConstant{"v8dbg_type_SharedFunctionInfo__", &V8Layout::shared_type},
    DescribedConstant{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__",
                      &V8Layout::shared_name},
    // …__script_or_debug_info__ (until 11.8), …__script__
    DescribedConstant{"v8dbg_class_SharedFunctionInfo__script_", &V8Layout::shared_script},
    DescribedConstant{"v8dbg_type_ScopeInfo__", &V8Layout::scope_type},
    DescribedConstant{"v8dbg_scopeinfo_idx_ncontextlocals", &V8Layout::scope_locals},
    DescribedConstant{"v8dbg_scopeinfo_idx_first_vars", &V8Layout::scope_first},
    DescribedConstant{"v8dbg_type_Script__", &V8Layout::script_type},
    DescribedConstant{"v8dbg_class_Script__name__", &V8Layout::script_name},
    DescribedConstant{"v8dbg_class_Script__source__", &V8Layout::script_source},
    DescribedConstant{"v8dbg_class_Script__line_ends__", &V8Layout::script_line_ends},
    DescribedConstant{"v8dbg_type_Oddball__", &V8Layout::oddball_type},
    DescribedConstant{"v8dbg_type_FixedArray__", &V8Layout::array_type},
    DescribedConstant{"v8dbg_class_FixedArrayBase__length__", &V8Layout::array_length},
    DescribedConstant{"v8dbg_class_FixedArray__data__", &V8Layout::array_data},
    DescribedConstant{"v8dbg_type_ByteArray__", &V8Layout::bytes_type},
    DescribedConstant{"v8dbg_type_TrustedByteArray__", &V8Layout::trusted_bytes_type,
                      Need::kOptional},
    DescribedConstant{"v8dbg_type_BytecodeArray__", &V8Layout::bytecode_type},
    DescribedConstant{"v8dbg_class_BytecodeArray__data__", &V8Layout::bytecode_data},
    DescribedConstant{"v8dbg_FirstNonstringType", &V8Layout::first_other_type},
    DescribedConstant{"v8dbg_class_String__length__", &V8Layout::string_length},
    DescribedConstant{"v8dbg_class_SeqOneByteString__chars__", &V8Layout::string_one_byte},
    DescribedConstant{"v8dbg_class_SeqTwoByteString__chars__", &V8Layout::string_two_byte},
    DescribedConstant{"v8dbg_class_ConsString__first__", &V8Layout::cons_first},
    DescribedConstant{"v8dbg_class_ConsString__second__", &V8Layout::cons_second},
    DescribedConstant{"v8dbg_class_SlicedString__parent__", &V8Layout::sliced_parent},
    DescribedConstant{"v8dbg_class_SlicedString__offset__", &V8Layout::sliced_offset},
    DescribedConstant{"v8dbg_class_ThinString__actual__", &V8Layout::thin_actual},
    DescribedConstant{"v8dbg_class_ExternalString__resource__", &V8Layout::external_resource},
    DescribedConstant{"v8dbg_type_Code__", &V8Layout::code_type, Need::kOptional},
};

// Versions of node: 18 to 26.
constexpr V8Traits old_traits(std::int32_t major, std::int32_t minor) {
  return {.major = major,
          .minor = minor,
          .bytecode_lines = 32,
          .function_scope = 2,
          .module_scope = 3,
          .eval_scope = 1,
          .code = major == 10 && minor == 2   ? V8CodeForm::k10
                  : major == 11 && minor == 3 ? V8CodeForm::k11
                                              : V8CodeForm::kUnknown};
}
constexpr V8Traits new_traits(std::int32_t major, std::int32_t minor) {
  return {.major = major,
          .minor = minor,
          .bytecode_lines = 24,
          .function_scope = 4,
          .module_scope = 5,
          .eval_scope = 3,
          .is_module_counted_first = true,
          .has_wide_entries = major >= 14,
          .code = minor == 6 ? V8CodeForm::k13 : V8CodeForm::kUnknown};
}
constexpr V8Traits traits_of_12_4() {
  V8Traits traits = old_traits(12, 4);
  traits.bytecode_lines = 24;
  traits.is_module_counted_first = true;
  traits.code = V8CodeForm::k12;
  return traits;
}
constexpr std::array kTraits = {
    old_traits(10, 2), old_traits(10, 8), old_traits(11, 3), old_traits(11, 8), traits_of_12_4(),
    new_traits(12, 9), new_traits(13, 6), new_traits(14, 1), new_traits(14, 6),
};

// Calls `take(name)` for each name in the string table of dynamic symbols that begins with kPrefix.
class NameTable {
 public:
  NameTable(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
            unwind::ImageReader reader) noexcept
      : reader_(reader) {
    constexpr std::size_t kMaxEntries = 64;
    std::array<Elf64_Dyn, kMaxEntries> entries{};  // a zero is DT_NULL
    const auto bytes = std::as_writable_bytes(std::span(entries));
    const std::size_t count = std::min<std::uint64_t>(dynamic.end - dynamic.begin, bytes.size());
    if (dynamic.empty() || !reader_.read(reader_.state, dynamic.begin, bytes.first(count))) return;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      const std::uint64_t value = entry.d_un.d_ptr;
      // glibc adds the load bias in place if the section is writable.
      if (entry.d_tag == DT_STRTAB) begin_ = value < load_bias ? value + load_bias : value;
      if (entry.d_tag == DT_STRSZ) size_ = std::min(entry.d_un.d_val, kMaxBytes);
    }
  }

  template <typename Take>
  void each(Take take) noexcept {
    std::size_t kept = 0;  // the unfinished name at the end of the block before
    for (std::uint64_t at = 0; at < size_ && begin_ != 0;) {
      // Blocks end where pages do: the last page need not be followed by another.
      const std::uint64_t in_block = kBlockBytes - (begin_ + at) % kBlockBytes;
      const std::size_t count = std::min(in_block, size_ - at);
      const auto block = std::as_writable_bytes(std::span(bytes_)).subspan(kept, count);
      if (!reader_.read(reader_.state, begin_ + at, block)) return;
      at += count;
      kept = take_names({bytes_.data(), kept + count}, take);
      std::memmove(bytes_.data(), bytes_.data() + used_, kept);
    }
  }

 private:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kBlockBytes = 4096;
  static constexpr std::size_t kMaxName = 256;  // longer names are of nothing that is looked for

  // Sets used_. The size of what remains.
  template <typename Take>
  std::size_t take_names(std::string_view text, Take take) noexcept {
    used_ = 0;
    for (;;) {
      const std::size_t end = text.find('\0', used_);
      if (end == std::string_view::npos) break;
      const std::string_view name(text.data() + used_, end - used_);
      if (name.starts_with(kPrefix)) take(name);
      used_ = end + 1;
    }
    // Of a name that is too long any part but the first will do: it does not begin with kPrefix.
    if (text.size() - used_ > kMaxName) used_ = text.size() - kMaxName;
    return text.size() - used_;
  }

  unwind::ImageReader reader_;
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::size_t used_ = 0;
  std::array<char, kBlockBytes + kMaxName> bytes_;
};

class V8Detector {
 public:
  V8Detector(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
             unwind::ImageReader reader) noexcept
      : dynamic_(dynamic), load_bias_(load_bias), reader_(reader) {}

  V8Detection run() noexcept {
    if (find(kMarker) == 0) return found_;
    found_.state = DetectionState::kRefused;
    NameTable(dynamic_, load_bias_, reader_).each([this](std::string_view name) { take(name); });
    found_.reason = find_missing();
    found_.is_constant_missing = found_.reason != nullptr;
    if (found_.reason == nullptr) found_.reason = find_refusal();
    if (found_.reason == nullptr) found_.state = DetectionState::kFound;
    return found_;
  }

 private:
  std::uint64_t find(std::string_view name) const noexcept {
    return unwind::find_exported(dynamic_, load_bias_, name, reader_);
  }
  bool read(std::string_view name, std::int32_t& out) const noexcept {
    const std::uint64_t at = find(name);
    return at != 0 && reader_.read_value(at, out);
  }

  void take(std::string_view name) noexcept {
    for (const DescribedConstant& known : kConstants) {
      std::int32_t& value = layout().*known.value;
      if (value == kNoV8Constant && name.starts_with(known.name)) read(name, value);
    }
  }

  // A required constant that is missing, or that is no offset or type at all; nullptr: none is.
  const char* find_missing() noexcept {
    constexpr std::int32_t kMost = 1 << 16;
    for (const DescribedConstant& known : kConstants) {
      const std::int32_t value = layout().*known.value;
      const bool is_missing = value == kNoV8Constant;
      if (is_missing && known.need == Need::kOptional) continue;
      if (is_missing || value < -kMost || value > kMost) return known.name;
    }
    return nullptr;
  }

  const char* find_refusal() noexcept {
    constexpr std::int32_t kWords = 3;
    constexpr std::int32_t kHalves = 31;  // behind the bit of the tag
    if (layout().tagged_shift != kWords || layout().small_integer_shift != kHalves) {
      return "compressed pointers";
    }
    V8Version& version = found_.runtime.version;
    if (!read("_ZN2v88internal7Version6major_E", version.major) ||
        !read("_ZN2v88internal7Version6minor_E", version.minor)) {
      return "unknown version";
    }
    read("_ZN2v88internal7Version6build_E", version.build);
    read("_ZN2v88internal7Version6patch_E", version.patch);
    const V8Traits* const traits = find_v8_traits(version.major, version.minor);
    if (traits == nullptr) return "unknown version";
    found_.runtime.traits = *traits;
    found_.runtime.image = {load_bias_, dynamic_.end};
    complete();
    return nullptr;
  }

  void complete() noexcept {
    constexpr std::int32_t kFunctionTypes = 16;  // until 11.8, where the last is not described
    if (layout().last_function_type == kNoV8Constant) {
      layout().last_function_type = layout().first_function_type + kFunctionTypes - 1;
    }
    if (layout().trusted_bytes_type == kNoV8Constant) {
      layout().trusted_bytes_type = layout().bytes_type;
    }
  }

  V8Layout& layout() noexcept { return found_.runtime.layout; }

  Range<std::uint64_t> dynamic_;
  std::uint64_t load_bias_;
  unwind::ImageReader reader_;
  V8Detection found_;
};

}  // namespace

V8Detection detect_v8(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                      unwind::ImageReader reader) noexcept {
  return V8Detector(dynamic, load_bias, reader).run();
}

const V8Traits* find_v8_traits(std::int32_t major, std::int32_t minor) noexcept {
  for (const V8Traits& traits : kTraits) {
    if (traits.major == major && traits.minor == minor) return &traits;
  }
  return nullptr;
}

}  // namespace swipr::runtimes
