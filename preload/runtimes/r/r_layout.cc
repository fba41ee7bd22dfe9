#include "preload/runtimes/r/r_layout.h"

#include <array>
#include <string_view>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/r/r_frames.h"
#include "preload/runtimes/r/r_names.h"
#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

constexpr const char* kRNotRunning = "its main thread runs no R";

// The objects that R's variables refer to.
struct RObjects {
  std::uint64_t nothing = 0;      // R_NilValue
  std::uint64_t environment = 0;  // R_BaseEnv
  std::uint64_t names = 0;        // R_NamesSymbol: the symbol "names"
};

// The outermost context has nothing but the base environment; that is how its fields are known to
// be where they should.
bool is_outermost(ObjectPieces& reader, std::uint64_t context, const RObjects& known) noexcept {
  const std::array<std::uint64_t, 5> expected = {known.nothing, known.nothing, known.environment,
                                                 known.nothing, known.environment};
  std::array<std::uint64_t, 5> found{};
  return reader.read_value(context + kRArguments, found) && found == expected;
}

bool has_known_contexts(ObjectPieces& reader, std::uint64_t innermost,
                        const RObjects& known) noexcept {
  std::uint64_t context = 0;
  RContextHead head{};
  if (!reader.read_value(innermost, context)) return false;
  for (unsigned count = 0; count < kMaxRContexts; ++count) {
    if (context == 0 || context % 8 != 0 || !reader.read_value(context, head)) return false;
    if (head.next == 0) return head.flags == 0 && is_outermost(reader, context, known);
    context = head.next;
  }
  return false;
}

bool has_known_symbols(ObjectPieces& reader, const RObjects& known) noexcept {
  BoundedText<1024> name;
  return append_r_symbol(reader, known.names, name) && name.view() == "names";
}

}  // namespace

RDetection detect_r(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                    unwind::ImageReader reader) noexcept {
  RDetection found;
  const auto find = [&](std::string_view name) {
    return unwind::find_exported(dynamic, load_bias, name, reader);
  };
  const std::uint64_t nothing = find("R_NilValue");
  if (nothing == 0) return found;
  found.state = DetectionState::kRefused;
  found.reason = "its variables are not exported";
  const std::uint64_t stack_end = find("R_CStackStart");
  const std::array places = {nothing, find("R_BaseEnv"), find("R_NamesSymbol")};
  found.runtime.innermost = find("R_GlobalContext");
  if (found.runtime.innermost == 0 || stack_end == 0) return found;
  for (const std::uint64_t place : places) {
    if (place == 0) return found;
  }
  found.state = DetectionState::kStarting;
  found.reason = kRNotRunning;
  ObjectPieces pieces(reader);
  RObjects known;
  if (pieces.read_value(places[0], known.nothing) &&
      pieces.read_value(places[1], known.environment) && known.environment != 0 &&
      pieces.read_value(places[2], known.names) &&
      pieces.read_value(stack_end, found.runtime.stack_end) && has_known_symbols(pieces, known) &&
      has_known_contexts(pieces, found.runtime.innermost, known)) {
    found.state = DetectionState::kFound;
    found.reason = nullptr;
  }
  return found;
}

}  // namespace swipr::runtimes
