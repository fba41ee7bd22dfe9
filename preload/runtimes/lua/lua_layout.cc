#include "preload/runtimes/lua/lua_layout.h"

#include <algorithm>
#include <string_view>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/image/frame_search.h"

namespace swipr::runtimes {
namespace {

// lua_ident is "$LuaVersion: Lua 5.4.4  Copyright (C) …".
constexpr std::string_view kLuaIdentity = "$LuaVersion: Lua ";

// Of the functions within so many bytes of an address, the largest one or the one that contains it.
enum class Wanted : bool { kLargest, kContaining };
void find_function(std::uint64_t elf_header, std::uint64_t address, std::uint64_t around,
                   Wanted wanted, unwind::ImageReader reader, Range<std::uint64_t>& out) noexcept {
  const unwind::BuildResult image = unwind::describe_image(elf_header, reader);
  const std::uint64_t at = address - image.load_bias;
  if (image.search.count == 0 || !image.text.contains(at)) return;
  unwind::FdeList fdes;
  const Range<std::uint64_t> part = {std::max(image.text.begin, at - std::min(at, around)),
                                     at + around};
  if (unwind::find_fdes(image, part, reader, fdes) != unwind::BuildStatus::kOk) return;
  const std::uint64_t bias = image.load_bias + image.text.begin;
  for (std::size_t index = 0; index + 1 < fdes.size(); ++index) {
    const Range<std::uint64_t> function = {bias + fdes[index].start(),
                                           bias + fdes[index + 1].start()};
    const bool is_larger = function.end - function.begin > out.end - out.begin;
    if (wanted == Wanted::kLargest ? is_larger : function.contains(address)) out = function;
  }
}

// Loops of interpreters are larger.
constexpr std::uint64_t kLeastLoop = 4096;

}  // namespace

bool find_largest_function(std::uint64_t elf_header, std::uint64_t own_function,
                           std::uint64_t around, unwind::ImageReader reader,
                           Range<std::uint64_t>& out) noexcept {
  find_function(elf_header, own_function, around, Wanted::kLargest, reader, out);
  return out.end - out.begin >= kLeastLoop;
}

bool find_called_loop(std::uint64_t elf_header, std::uint64_t caller, unwind::ImageReader reader,
                      Range<std::uint64_t>& out) noexcept {
  constexpr std::uint64_t kMostCode = 256;
  constexpr std::uint64_t kMostLoop = 64 << 10;
  constexpr std::uint64_t kStep = unwind::kReturnAddressIsPushed ? 1 : 4;  // of instructions
  std::uint64_t call = 0;                                                  // it ends with one
  for (std::uint64_t end = caller + sizeof call; end < caller + kMostCode; end += kStep) {
    if (!reader.read_value(end - sizeof call, call)) return false;
    const std::uint64_t target = unwind::direct_call_target(call, end);
    if (target == 0) continue;
    find_function(elf_header, target, kMostLoop, Wanted::kContaining, reader, out);
    if (out.end - out.begin >= kLeastLoop) return true;
  }
  return false;
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
