#include "preload/runtimes/ruby/ruby_classes.h"

#include <string_view>

#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

// What follows "rb_" in the name of each variable: a letter, and the name of the class. One text,
// because an array of texts needs relocations.
constexpr std::string_view kVariables =
    "cArray cBasicObject cBinding cClass cComplex cDir cEncoding cEnumerator cFalseClass cFile "
    "cFloat cHash cIO cInteger cMatch cMethod cModule cNilClass cNumeric cObject cProc cRactor "
    "cRandom cRange cRational cRegexp cRubyVM cString cStruct cSymbol cThread cTime cTrueClass "
    "cUnboundMethod eException mComparable mEnumerable mErrno mFileTest mGC mKernel mMath mProcess";

// The text of the variable, which begins there.
constexpr std::string_view variable_at(std::size_t begin) {
  const std::size_t end = kVariables.find(' ', begin);
  return {kVariables.data() + begin, (end == kVariables.npos ? kVariables.size() : end) - begin};
}

constexpr std::size_t count_variables() {
  std::size_t count = 1;
  for (const char c : kVariables) count += c == ' ';
  return count;
}
static_assert(count_variables() == kRubyClasses);

void append(std::string_view text, BoundedText<1024>& out) noexcept {
  for (const char c : text) out.append(static_cast<unsigned char>(c));
}

}  // namespace

void find_ruby_classes(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                       unwind::ImageReader reader, RubyClasses& out) noexcept {
  std::array<char, 32> name = {'r', 'b', '_'};
  std::size_t begin = 0;
  out.base = load_bias;
  for (std::uint32_t& variable : out.variables) {
    const std::string_view text = variable_at(begin);
    begin += text.size() + 1;
    std::size_t size = 3;
    for (const char c : text) name[size++] = c;
    const std::uint64_t address =
        unwind::find_exported(dynamic, load_bias, {name.data(), size}, reader);
    const std::uint64_t offset = address == 0 ? 0 : address - load_bias;
    variable = offset >> 32 == 0 ? static_cast<std::uint32_t>(offset) : 0;
  }
}

void append_ruby_class(const RubyClasses& classes, ObjectPieces& reader, std::uint64_t owner,
                       BoundedText<1024>& out) noexcept {
  constexpr std::string_view kMatch = "cMatch";
  constexpr std::uint64_t kClass = 8;  // RBasic.klass: of a class, the one of its own methods
  std::size_t begin = 0;
  if (owner == 0) return;
  for (const std::uint32_t variable : classes.variables) {
    const std::string_view text = variable_at(begin);
    begin += text.size() + 1;
    std::uint64_t value = 0;
    std::uint64_t of_itself = 0;
    if (variable == 0 || !reader.read_value(classes.base + variable, value) || value % 8 != 0 ||
        !reader.read_value(value + kClass, of_itself)) {
      continue;
    }
    if (value != owner && of_itself != owner) continue;
    append({text.data() + 1, text.size() - 1}, out);
    if (text == kMatch) append("Data", out);
    return append(value == owner ? "#" : ".", out);
  }
}

}  // namespace swipr::runtimes
