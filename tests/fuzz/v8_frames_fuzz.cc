// JavaScript's frames, names and lines in a memory of any contents. The first byte selects the
// version, the second which bytes are the offsets; the rest is the memory, which repeats, so that
// every address is readable.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "preload/runtimes/v8/v8_code.h"
#include "preload/runtimes/v8/v8_frames.h"
#include "preload/runtimes/v8/v8_names.h"
#include "tests/fuzz/repeating_memory.h"

namespace {

using namespace swipr::runtimes;

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;
constexpr std::uint32_t kFrames = 32;
constexpr std::uint64_t kMaxReads =
    3 * std::uint64_t{kMaxV8SourceUnits} / 256 + kFrames * std::uint64_t{10} + 10'000;

V8Runtime v8_of(std::uint8_t version, std::span<const std::byte> bytes, std::size_t from) {
  constexpr std::array<std::array<std::int32_t, 2>, 4> kVersions = {
      {{10, 2}, {12, 4}, {13, 6}, {11, 3}}};
  V8Runtime v8;
  const auto [major, minor] = kVersions[version % kVersions.size()];
  v8.traits = *find_v8_traits(major, minor);
  std::array<std::int32_t, sizeof(V8Layout) / 4> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::to_integer<std::int32_t>(bytes[(from + i) % bytes.size()]);
  }
  std::memcpy(static_cast<void*>(&v8.layout), values.data(), sizeof v8.layout);
  v8.layout.frame_context = -8;
  v8.layout.frame_function = -16;
  v8.layout.frame_bytecode = -32;
  v8.layout.frame_position = -40;
  v8.layout.last_function_type = 65535;
  return v8;
}

// So that the names are read at all: the function's parts have the types that they should have.
void adopt_types(V8Layout& layout, ObjectPieces& reader, const Token& token) {
  const auto adopt = [&](std::uint64_t word, std::int32_t& type) {
    read_v8_type(layout, reader, word, type);
  };
  std::uint64_t word = 0;
  adopt(token.code + 1, layout.shared_type);
  reader.read_value(at_v8_offset(token.code, layout.shared_script), word);
  adopt(word, layout.script_type);
  reader.read_value(at_v8_offset(token.code, layout.shared_name), word);
  adopt(word, layout.scope_type);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  RepeatingMemory memory{std::as_bytes(std::span(data, size)).subspan(2)};
  static const auto frames = std::make_unique<swipr::unwind::FrameBuffer>();
  static const auto tokens = std::make_unique<TokenBuffer>();
  static const auto text = std::make_unique<FunctionText>();
  const auto lines = std::make_unique<V8LineCache>();
  V8Runtime v8 = v8_of(data[0], memory.bytes, data[1]);
  ObjectPieces reader(memory.reader());
  frames->frame_count = kFrames;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    frames->stacks[i] = kBegin + i * std::uint64_t{48};
    frames->kinds[i] = static_cast<std::uint8_t>(swipr::wire::FrameSource::kFramePointer);
  }
  read_v8_tokens(v8, reader, *frames, {kBegin + 1, 77}, *tokens);
  if (tokens->added() >= kFrames) std::abort();
  constexpr std::size_t kMost = 4;
  for (const Token& token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    std::uint32_t line = 0;
    adopt_types(v8.layout, reader, token);
    memory.reads = 0;
    if (read_v8_function(v8, reader, token, *lines, *text) && text->name.view().empty()) {
      std::abort();
    }
    read_v8_line(v8, reader, token, *lines, line);
    if (memory.reads > kMaxReads) std::abort();
    V8Functions inlined;
    V8CodePlace place{kBegin + data[1] * std::uint64_t{8}, kBegin};
    memory.reads = 0;
    expand_v8_token(v8, reader, token, kBegin + data[0] * std::uint64_t{64}, place, inlined);
    if (memory.reads > kMaxV8CodeBytes / 64 * 6 + kMaxV8PositionTable) std::abort();
  }
  detect_v8({kBegin, kBegin + size}, kBegin, memory.reader());
  return 0;
}
