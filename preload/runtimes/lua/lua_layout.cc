#include "preload/runtimes/lua/lua_layout.h"

#include <algorithm>
#include <string_view>

#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/image/frame_search.h"

namespace swipr::runtimes {
namespace {

// lua_ident is "$LuaVersion: Lua 5.4.4  Copyright (C) …".
constexpr std::string_view kLuaIdentity = "$LuaVersion: Lua ";

}  // namespace

bool find_largest_function(std::uint64_t elf_header, std::uint64_t own_function,
                           std::uint64_t around, unwind::ImageReader reader,
                           Range<std::uint64_t>& out) noexcept {
  constexpr std::uint64_t kLeast = 4096;
  const unwind::BuildResult image = unwind::describe_image(elf_header, reader);
  const std::uint64_t at = own_function - image.load_bias;
  if (image.search.count == 0 || !image.text.contains(at)) return false;
  unwind::FdeList fdes;
  const Range<std::uint64_t> part = {std::max(image.text.begin, at - std::min(at, around)),
                                     at + around};
  if (unwind::find_fdes(image, part, reader, fdes) != unwind::BuildStatus::kOk) return false;
  const std::uint64_t bias = image.load_bias + image.text.begin;
  for (std::size_t index = 0; index + 1 < fdes.size(); ++index) {
    const Range<std::uint64_t> function = {bias + fdes[index].start(),
                                           bias + fdes[index + 1].start()};
    if (function.end - function.begin > out.end - out.begin) out = function;
  }
  return out.end - out.begin >= kLeast;
}

LuaDetection detect_lua(std::uint64_t elf_header, Range<std::uint64_t> dynamic,
                        std::uint64_t load_bias, unwind::ImageReader reader) noexcept {
  struct {
    std::array<char, kLuaIdentity.size()> prefix;
    std::array<char, 5> version;
  } text{};
  LuaDetection found;
  const std::uint64_t identity = unwind::find_exported(dynamic, load_bias, "lua_ident", reader);
  if (identity == 0 || !reader.read_value(identity, text) ||
      std::string_view(text.prefix.data(), text.prefix.size()) != kLuaIdentity) {
    return found;
  }
  std::copy(text.version.begin(), text.version.end(), found.version.begin());
  found.state = DetectionState::kRefused;
  found.reason = "only Lua 5.4.2 and later versions of 5.4 are read";
  const char last = text.version[4];
  const std::string_view version(text.version.data(), text.version.size());
  if (!version.starts_with("5.4.") || last < '2') return found;
  if (last == '2') found.runtime.protection_at = 80;
  found.reason = "its loop was not found";
  const std::uint64_t own = unwind::find_exported(dynamic, load_bias, "lua_newstate", reader);
  // luaV_execute has no symbol. It is the largest function of Lua by far: 15,210 bytes in Debian's
  // 5.4.4, the next one 3,504. Lua's code is 180 KiB, or less.
  constexpr std::uint64_t kAround = 192 << 10;
  if (own == 0 || !find_largest_function(elf_header, own, kAround, reader, found.runtime.loop)) {
    return found;
  }
  found.state = DetectionState::kFound;
  found.reason = nullptr;
  return found;
}

}  // namespace swipr::runtimes
