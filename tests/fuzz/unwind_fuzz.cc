// Mutated ELF images through the table builder, then walks with arbitrary registers over arbitrary
// memory. Anything but a fault, a hang or a frame outside of code is right.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "preload/unwind/table_builder.h"
#include "preload/unwind/unwind_table.h"
#include "preload/unwind/walk.h"

namespace {

using namespace swipr::unwind;

constexpr std::uint64_t kLoadBias = 0x7f0000000000;
constexpr std::size_t kWalkBytes = 64;  // of the input: what registers and memory are made from

// The image is what the input holds; beyond its end nothing is mapped.
bool read_image(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  const auto image = *static_cast<const std::span<const std::byte>*>(state);
  const std::uint64_t offset = address - kLoadBias;
  if (offset > image.size() || out.size() > image.size() - offset) return false;
  if (!out.empty()) std::memcpy(out.data(), image.data() + offset, out.size());
  return true;
}

struct Memory {
  std::uint64_t seed = 0;
  std::uint64_t code_start = 0;
  std::uint64_t code_bytes = 1;
  std::uint64_t reads = 0;
};

// A third of the words point into code, a third onto the stack nearby, the rest anywhere; some are
// unreadable.
bool read_memory(void* state, std::uint64_t address, std::uint64_t& out) noexcept {
  auto& memory = *static_cast<Memory*>(state);
  ++memory.reads;
  const std::uint64_t random = (address ^ memory.seed) * 0x9e3779b97f4a7c15;
  const std::uint64_t choice = random >> 56;
  if (choice < 2) return false;
  if (choice < 90) {
    out = memory.code_start + random % memory.code_bytes;
  } else if (choice < 170) {
    out = address + random % 4096;
  } else {
    out = random;
  }
  return true;
}

void walk_randomly(const BuildResult& built, std::span<const std::byte> input) {
  std::uint64_t words[kWalkBytes / 8] = {};
  const std::span<const std::byte> head = input.first(std::min(input.size(), sizeof words));
  if (!head.empty()) std::memcpy(words, head.data(), head.size());
  // Where the image has CFI, or else somewhere.
  const bool has_table = built.table != nullptr;
  const std::uint64_t start = kLoadBias + (has_table ? built.table->base : 0);
  const CodeRange range{.start = start,
                        .end = start + (has_table ? built.table->covered_bytes : 4096),
                        .load_bias = has_table ? kLoadBias : 0,
                        .table = built.table};
  Memory memory{.seed = words[0], .code_start = range.start, .code_bytes = range.end - range.start};
  Registers registers;
  for (unsigned reg = 0; reg < Registers::kCount; ++reg) {
    registers.values[reg] = words[1 + reg % 7] * (reg + 1);
  }
  registers.values[kPc] = range.start + words[1] % memory.code_bytes;
  registers.known = static_cast<std::uint32_t>(words[2]) | 1u << kPc | 1u << kRsp;
  static const auto frames = std::make_unique<FrameBuffer>();
  const std::span<const CodeRange> ranges(&range, 1);
  walk(CodeMap(ranges), registers, {&read_memory, &memory}, *frames);
  if (frames->frame_count == 0 || frames->frame_count > swipr::wire::kMaxFrames) std::abort();
  // A step reads a handful of words; an expression at most one per operation.
  if (memory.reads > std::uint64_t{kMaxSteps} * 18 * 64) std::abort();
  for (std::uint32_t i = 1; i < frames->frame_count; ++i) {
    const bool exact = (frames->kinds[i] & 4) != 0;
    const std::uint64_t pc = frames->pcs[i] - (exact ? 0 : 1);
    if (!exact && (pc < range.start || pc >= range.end)) std::abort();
  }
}

// As if the second half of the input were its file's .debug_frame.
void build_with_debug_frame(std::span<const std::byte> image) {
  std::span<const std::byte> section = image.last(image.size() / 2);
  const auto read = [](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    return read_image(state, kLoadBias + address, out);
  };
  const BuildResult built = build_table(kLoadBias, {&read_image, &image},
                                        {.reader = {read, &section}, .bytes = section.size()});
  if ((built.status == BuildStatus::kOk) != (built.table != nullptr)) std::abort();
  walk_randomly(built, section);
  destroy_table(built.table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::byte> image(reinterpret_cast<const std::byte*>(data), size);
  const BuildResult built = build_table(kLoadBias, {&read_image, &image});
  if ((built.status == BuildStatus::kOk) != (built.table != nullptr)) std::abort();
  if (built.build_id_bytes > sizeof built.build_id) std::abort();
  walk_randomly(built, image.last(size < kWalkBytes ? size : kWalkBytes));
  destroy_table(built.table);
  build_with_debug_frame(image);
  return 0;
}
