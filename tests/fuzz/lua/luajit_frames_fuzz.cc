// LuaJIT's frames and names in a memory of any contents. The first byte selects the registers that
// are known and whether each pc is the machine's; the rest is the memory, which repeats, so that
// every address is readable.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>

#include "preload/runtimes/lua/lua_names.h"
#include "preload/runtimes/luajit/luajit_frames.h"
#include "preload/runtimes/luajit/luajit_names.h"
#include "tests/fuzz/lua/found_function.h"
#include "tests/fuzz/repeating_memory.h"

namespace {

using namespace swipr::runtimes;
using swipr::unwind::StepStatus;

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;
constexpr swipr::Range<std::uint64_t> kLoop = {0x5500'0000, 0x5500'4000};

bool read_word(void* state, std::uint64_t address, std::uint64_t& out) noexcept {
  return static_cast<ObjectPieces*>(state)->read_value(address, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  RepeatingMemory memory{std::as_bytes(std::span(data, size)).subspan(1)};
  static const auto tokens = std::make_unique<TokenBuffer>();
  static const auto text = std::make_unique<FunctionText>();
  const std::array ranges = {swipr::unwind::CodeRange{.start = 1, .end = ~std::uint64_t{0}}};
  const swipr::unwind::CodeMap map(ranges);
  ObjectPieces reader(memory.reader());
  tokens->clear();
  const LuaRuntime lua{.loop = kLoop, .is_jit = true};
  LuaJitWalk walk(lua, map, (data[0] & 1) != 0 ? tokens.get() : nullptr);
  swipr::unwind::Registers registers;
  registers.known =
      (data[0] & 2) != 0 ? swipr::unwind::kAllRegisters : swipr::unwind::kCallersRegisters;
  registers.values.fill(kBegin + 8 * data[1]);
  for (unsigned step = 0; step < 16; ++step) {
    constexpr std::array<std::uint64_t, 4> kPcs = {0x100, 0x4010, 0x8000, 0x200};
    registers.values[swipr::unwind::kPcRegister] = kLoop.begin + kPcs[((data[0] >> 2) + step) & 3];
    if (walk.step(registers, step == 0, {{&read_word, &reader}, reader.image_reader()}) !=
        StepStatus::kOk) {
      break;
    }
  }
  if (tokens->added() > kMaxLuaCalls) std::abort();
  tokens->finish(false);
  constexpr std::size_t kMost = 4;
  for (const Token& token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    std::uint32_t line = 0;
    read_luajit_function(reader, token, *text);
    read_luajit_line(reader, token, line);
  }
  // As if it had been found there.
  LuaJitCode code;
  if (!reader.read_value(kBegin, code)) return 0;
  const Token token = token_of_function(kBegin, fingerprint_of(code), data[1]);
  memory.reads = 0;
  std::uint32_t line = 0;
  read_luajit_function(reader, token, *text);
  read_luajit_line(reader, token, line);
  if (memory.reads > 300 * kMaxLuaSteps) std::abort();
  detect_luajit(kBegin, {kBegin, kBegin + size}, kBegin, memory.reader());
  return 0;
}
