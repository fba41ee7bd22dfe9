#include "preload/runtimes/python/python_layout.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

constexpr const char* kUnsupported = "unsupported version; 3.8 to 3.15 are";
constexpr const char* kLoading = "it is being loaded";

// From 3.13 on _PyRuntime begins with a description of itself (_Py_DebugOffsets), 8 bytes a field.
// Which field is where differs from version to version.
struct DescribedField {
  std::uint32_t PythonLayout::*field;
  std::array<std::uint16_t, 3> places;  // 3.13, 3.14, 3.15
};
constexpr std::array kDescribedFields = {
    DescribedField{&PythonLayout::runtime_interpreters, {40, 40, 40}},
    DescribedField{&PythonLayout::interpreter_next, {64, 64, 64}},
    DescribedField{&PythonLayout::interpreter_threads, {72, 72, 72}},
    DescribedField{&PythonLayout::thread_frame, {184, 208, 208}},
    DescribedField{&PythonLayout::thread_id, {192, 216, 240}},
    DescribedField{&PythonLayout::thread_native_id, {200, 224, 248}},
    DescribedField{&PythonLayout::frame_previous, {232, 256, 320}},
    DescribedField{&PythonLayout::frame_code, {240, 264, 328}},
    DescribedField{&PythonLayout::frame_position, {248, 272, 336}},
    DescribedField{&PythonLayout::frame_owner, {264, 288, 352}},
    DescribedField{&PythonLayout::code_file, {280, 320, 384}},
    DescribedField{&PythonLayout::code_name, {288, 328, 392}},
    DescribedField{&PythonLayout::code_qualified_name, {296, 336, 400}},
    DescribedField{&PythonLayout::code_lines, {304, 344, 408}},
    DescribedField{&PythonLayout::code_first_line, {312, 352, 416}},
    DescribedField{&PythonLayout::code_bytecode, {344, 384, 448}},
    DescribedField{&PythonLayout::text_ascii, {560, 640, 736}},
};
// In an interpreter; its part for the collector of garbage, and in that the field.
constexpr std::size_t kDescribedCollector[] = {80, 88, 88};
constexpr std::size_t kDescribedCollecting[] = {576, 656, 760};
constexpr std::size_t kDescribedBytes = 768;
constexpr std::uint64_t kLargestOffset = std::uint64_t{1} << 20;

class Detector {
 public:
  Detector(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
           unwind::ImageReader reader) noexcept
      : dynamic_(dynamic), load_bias_(load_bias), reader_(reader) {}

  PythonDetection run() noexcept {
    found_.runtime.runtime = find("_PyRuntime");
    if (found_.runtime.runtime == 0) return found_;
    found_.state = DetectionState::kRefused;
    found_.reason = find_reason();
    if (found_.reason == nullptr) found_.state = DetectionState::kFound;
    if (found_.reason == kLoading) found_.state = DetectionState::kStarting;
    return found_;
  }

 private:
  std::uint64_t find(std::string_view name) const noexcept {
    return unwind::find_exported(dynamic_, load_bias_, name, reader_);
  }
  bool exports(std::string_view name) const noexcept { return find(name) != 0; }

  // Why frames must not be read; nullptr: they may.
  const char* find_reason() noexcept {
    if (!read_version()) return kUnsupported;
    const PythonLayout* const layout = find_python_layout(found_.minor);
    if (layout == nullptr) return kUnsupported;
    if (exports("_Py_NegativeRefcount")) return "debug build";
    PythonRuntime& runtime = found_.runtime;
    runtime.layout = *layout;
    if (found_.minor >= 13) {
      if (const char* const reason = read_description(); reason != nullptr) return reason;
    }
    runtime.code_type = find("PyCode_Type");
    if (runtime.code_type == 0) return "PyCode_Type is not exported";
    runtime.loop =
        unwind::find_exported_range(dynamic_, load_bias_, "_PyEval_EvalFrameDefault", reader_);
    return compare_members();
  }

  bool read_version() noexcept {
    std::uint32_t version = 0;
    const std::uint64_t at = find("Py_Version");
    if (at != 0) {  // PY_VERSION_HEX
      if (!reader_.read_value(at, version) || version >> 24 != 3) return false;
      found_.minor = version >> 16 & 0xff;
      found_.micro = version >> 8 & 0xff;
      found_.has_micro = true;
      return true;
    }
    found_.minor = exports("PyModule_AddObjectRef") ? 10
                   : exports("PyFrame_GetCode")     ? 9
                   : exports("PyVectorcall_Call")   ? 8
                                                    : 0;
    return found_.minor != 0;
  }

  const char* read_description() noexcept {
    std::array<std::uint64_t, kDescribedBytes / 8> words{};
    if (!reader_.read(reader_.state, found_.runtime.runtime,
                      std::as_writable_bytes(std::span(words)))) {
      return "_PyRuntime cannot be read";
    }
    constexpr std::uint64_t kCookie = 0x79'70'67'75'62'65'64'78;  // "xdebugpy"
    if (words[0] != kCookie) return "_PyRuntime does not describe itself";
    if ((words[1] >> 16 & 0xff) != found_.minor) return "_PyRuntime is of another version";
    if (words[2] != 0) return "free-threaded build";
    constexpr const char* kWrong = "_PyRuntime describes itself wrongly";
    PythonLayout& layout = found_.runtime.layout;
    const std::size_t version = found_.minor - 13;
    static_assert(kNewestPython - 13 < std::size(kDescribedCollector));
    for (const DescribedField& described : kDescribedFields) {
      const std::uint64_t offset = words[described.places[version] / 8];
      if (offset >= kLargestOffset) return kWrong;
      layout.*described.field = static_cast<std::uint32_t>(offset);
    }
    const std::uint64_t collector = words[kDescribedCollector[version] / 8];
    const std::uint64_t collecting = words[kDescribedCollecting[version] / 8];
    if (collector >= kLargestOffset || collecting >= kLargestOffset) return kWrong;
    layout.interpreter_collecting = static_cast<std::uint32_t>(collector + collecting);
    layout.text_other = layout.text_ascii + 16;  // PyCompactUnicodeObject: two words more
    return nullptr;
  }

  // The interpreter's own list of the fields of code objects has the same offsets. Before its
  // pointers are relocated, it seems to be empty.
  const char* compare_members() const noexcept {
    constexpr const char* kUnknown = "its code objects have an unknown layout";
    constexpr std::uint64_t kTypeMembers = 240;  // PyTypeObject.tp_members
    constexpr std::uint64_t kMemberBytes = 40;   // PyMemberDef: name, type, offset, flags, doc
    constexpr unsigned kMaxMembers = 64;
    const PythonLayout& layout = found_.runtime.layout;
    const struct {
      std::string_view name;
      std::uint32_t offset;
    } expected[] = {{"co_name", layout.code_name},
                    {"co_filename", layout.code_file},
                    {"co_firstlineno", layout.code_first_line},
                    {"co_consts", layout.code_constants},
                    {"co_qualname", layout.code_qualified_name}};
    const unsigned wanted = layout.code_qualified_name != 0 ? 5 : 4;
    unsigned found = 0;
    std::uint64_t member = 0;
    if (!reader_.read_value(found_.runtime.code_type + kTypeMembers, member)) return kLoading;
    for (unsigned step = 0; step < kMaxMembers; ++step, member += kMemberBytes) {
      std::array<std::uint64_t, 3> words{};  // name, type, offset
      if (!reader_.read(reader_.state, member, std::as_writable_bytes(std::span(words))) ||
          words[0] == 0) {
        break;
      }
      for (const auto& field : expected) {
        if (!is_text(words[0], field.name)) continue;
        if (words[2] != field.offset) return kUnknown;
        ++found;
      }
    }
    if (found == 0) return kLoading;
    return found == wanted ? nullptr : kUnknown;
  }

  bool is_text(std::uint64_t address, std::string_view text) const noexcept {
    std::array<char, 16> bytes{};
    const auto part = std::span(bytes).first(text.size() + 1);
    return reader_.read(reader_.state, address, std::as_writable_bytes(part)) &&
           std::string_view(bytes.data(), text.size()) == text && bytes[text.size()] == '\0';
  }

  Range<std::uint64_t> dynamic_;
  std::uint64_t load_bias_;
  unwind::ImageReader reader_;
  PythonDetection found_;
};

}  // namespace

PythonDetection detect_python(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                              unwind::ImageReader reader) noexcept {
  return Detector(dynamic, load_bias, reader).run();
}

}  // namespace swipr::runtimes
