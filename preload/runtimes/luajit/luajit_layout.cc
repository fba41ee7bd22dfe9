#include "preload/runtimes/luajit/luajit_layout.h"

#include <algorithm>
#include <string_view>

#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {

LuaDetection detect_luajit(std::uint64_t elf_header, Range<std::uint64_t> dynamic,
                           std::uint64_t load_bias, unwind::ImageReader reader) noexcept {
  LuaDetection found;
  const auto address_of = [&](std::string_view name) {
    return unwind::find_exported(dynamic, load_bias, name, reader);
  };
  if (address_of("luaJIT_setmode") == 0) return found;
  constexpr std::string_view kVersion = "LuaJIT";
  std::copy(kVersion.begin(), kVersion.end(), found.version.begin());
  found.state = DetectionState::kRefused;
  found.reason = "only LuaJIT 2.1 with 64-bit references is read";
  // lua_status() reads the member behind the head of an object: movzx eax, byte [rdi + 11]; ret, or
  // ldrb w0, [x0, 11]; ret. With references of 32 bits that is at 7.
  constexpr std::uint64_t kWide = kIsX86_64 ? 0xc30b47b60f : 0xd65f03c039402c00;
  constexpr std::uint64_t kBits = kIsX86_64 ? 0xffffffffff : ~std::uint64_t{0};
  constexpr std::uint32_t kLandingPad = kIsX86_64 ? 0xfa1e0ff3 : 0xd503245f;  // endbr64, bti c
  std::uint64_t code = 0;
  std::uint32_t first = 0;
  const std::uint64_t status = address_of("lua_status");
  if (status == 0 || !reader.read_value(status, first) ||
      !reader.read_value(status + (first == kLandingPad ? 4 : 0), code) ||
      (code & kBits) != kWide) {
    return found;
  }
  found.reason = "its interpreter was not found";
  // The machine is one function, of 16 KiB, in the midst of which lj_vm_pcall is.
  const std::uint64_t caller = address_of("lua_pcall");
  if (caller == 0 || !find_called_loop(elf_header, caller, reader, found.runtime.loop)) {
    return found;
  }
  found.runtime.is_jit = true;
  found.state = DetectionState::kFound;
  found.reason = nullptr;
  return found;
}

}  // namespace swipr::runtimes
