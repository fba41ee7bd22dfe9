// Mutated ELF images in the table builder, as mapped images and as registered code, then walks with
// arbitrary registers over arbitrary memory. Fails on a fault, a hang or a frame outside of code.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>

#include "preload/unwind/cfi/registered_cfi.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/image/jit_object.h"
#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/stack_words.h"
#include "preload/unwind/walk/walk.h"

namespace {

using namespace swipr::unwind;

constexpr std::uint64_t kLoadBias = 0x7f0000000000;
constexpr std::size_t kWalkBytes = 64;  // of the input, from which registers and memory are made

// The image is the input; no memory is mapped after its end.
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

// The words that a handler stores for the search of a lost caller.
void keep_words(const CodeMap& map, Memory& memory, const Hole& hole) {
  struct Reader {
    Memory& memory;
    bool read_word(std::uint64_t address, std::uint64_t& out) {
      return read_memory(&memory, address, out);
    }
  } reader{memory};
  static std::uint64_t kept[swipr::wire::kMaxFrames];
  const std::size_t room = memory.seed % (std::size(kept) + 1);
  const std::size_t count = keep_stack_words(map, reader, hole.stack, std::span(kept).first(room));
  if (count > room) std::abort();
  const StackWords words(hole.stack, std::span(kept).first(count));
  for (std::size_t index = 0; index < words.count(); ++index) {
    std::uint64_t word = 0;
    if (words.find(words.address(index)) != index) std::abort();
    if (!words.read_word(words.address(index), word) || word != words.value(index)) std::abort();
    if (index != 0 && words.address(index) <= words.address(index - 1)) std::abort();
  }
  std::uint64_t any = 0;
  words.read_word(memory.seed, any);
}

void walk_randomly(const UnwindTable* table, std::uint64_t load_bias,
                   std::span<const std::byte> input, CodeChecksums checksums = {}) {
  std::uint64_t words[kWalkBytes / 8] = {};
  const std::span<const std::byte> head = input.first(std::min(input.size(), sizeof words));
  if (!head.empty()) std::memcpy(words, head.data(), head.size());
  // An address at which the image has CFI, or any other.
  const bool has_table = table != nullptr;
  const std::uint64_t start = has_table ? load_bias + table->base : kLoadBias;
  const CodeRange range{.start = start,
                        .end = start + (has_table ? table->covered_bytes : 4096),
                        .load_bias = has_table ? load_bias : 0,
                        .table = table,
                        .is_registered = checksums.contradicted != nullptr};
  Memory memory{.seed = words[0], .code_start = range.start, .code_bytes = range.end - range.start};
  Registers registers;
  for (unsigned reg = 0; reg < Registers::kCount; ++reg) {
    registers.values[reg] = words[1 + reg % 7] * (reg + 1);
  }
  registers.values[kPc] = range.start + words[1] % memory.code_bytes;
  registers.known = static_cast<std::uint32_t>(words[2]) | 1u << kPc | 1u << kRsp;
  static const auto frames = std::make_unique<FrameBuffer>();
  const std::span<const CodeRange> ranges(&range, 1);
  const std::atomic<std::uint32_t> withdrawals{0};
  const CodeMap map(ranges, nullptr, {&withdrawals, 0}, checksums);
  walk(map, registers, {&read_memory, &memory}, *frames);
  if (frames->frame_count == 0 || frames->frame_count > swipr::wire::kMaxFrames) std::abort();
  // A step reads a few words; an expression at most one per operation. Code checksums: 16,384 in
  // all.
  if (memory.reads > std::uint64_t{kMaxSteps} * 18 * 64 + 16384) std::abort();
  for (std::uint32_t i = 1; i < frames->frame_count; ++i) {
    const bool exact = (frames->kinds[i] & 4) != 0;
    const std::uint64_t pc = frames->pcs[i] - (exact ? 0 : 1);
    if (!exact && (pc < range.start || pc >= range.end)) std::abort();
  }
  if (has_lost_caller(*frames)) keep_words(map, memory, frames->hole);
}

// In parts, as the agent builds images that have a search table.
void build_in_parts(std::span<const std::byte> image) {
  const ImageReader reader{&read_image, &image};
  const BuildResult described = describe_image(kLoadBias, reader);
  if (described.search.count == 0) return;
  const std::uint64_t middle =
      described.text.begin + (described.text.end - described.text.begin) / 2;
  for (const swipr::Range<std::uint64_t> part :
       {swipr::Range<std::uint64_t>{described.text.begin, middle},
        swipr::Range<std::uint64_t>{middle, described.text.end}}) {
    const UnwindTable* table = nullptr;
    const BuildStatus status = build_part(described, part, reader, table);
    if ((status == BuildStatus::kOk) != (table != nullptr)) std::abort();
    if (table != nullptr) {
      walk_randomly(table, kLoadBias, image.last(std::min(image.size(), kWalkBytes)));
    }
    destroy_table(table);
  }
}

// Uses the second half of the input as .debug_frame of the file.
void build_with_debug_frame(std::span<const std::byte> image) {
  std::span<const std::byte> section = image.last(image.size() / 2);
  const auto read = [](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    return read_image(state, kLoadBias + address, out);
  };
  const BuildResult built = build_table(kLoadBias, {&read_image, &image},
                                        {.reader = {read, &section}, .bytes = section.size()});
  if ((built.status == BuildStatus::kOk) != (built.table != nullptr)) std::abort();
  walk_randomly(built.table, kLoadBias, section);
  destroy_table(built.table);
}

// Uses the input as registered CFI, from its first byte and from its middle, and as an object of
// the JIT interface.
void build_registered(std::span<const std::byte> image) {
  const ImageReader reader{&read_image, &image};
  RegisteredCfi cfi;
  static_cast<void>(cfi.add(kLoadBias, reader));
  static_cast<void>(cfi.add(kLoadBias + image.size() / 2, reader));
  JitObject object;
  if (object.open({kLoadBias, kLoadBias + image.size()}, reader)) {
    static_cast<void>(cfi.add_unreported(object.find_cfi(), reader));
    object.for_each_function([](swipr::Range<std::uint64_t> code, std::string_view name) {
      if (code.empty() || name.empty()) std::abort();
      return true;
    });
  }
  static_cast<void>(cfi.add_unreported(
      {.at = kLoadBias, .bytes = image.size(), .format = CfiFormat::kDebugFrame}, reader));
  GrowableArray<CodeChecksum> checksums;
  if (!cfi.build_checksums(reader, checksums)) std::abort();
  cfi.confirm_checksums(true, reader, checksums.span());
  std::atomic<bool> contradicted{false};
  for (const std::uint64_t text : {std::uint64_t{0}, kLoadBias}) {
    const UnwindTable* table = nullptr;
    const BuildStatus status = cfi.build({text, text + UINT32_MAX}, table);
    if ((status == BuildStatus::kOk) != (table != nullptr)) std::abort();
    walk_randomly(table, 0, image, {checksums.span(), &contradicted});
    destroy_table(table);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::byte> image(reinterpret_cast<const std::byte*>(data), size);
  const BuildResult built = build_table(kLoadBias, {&read_image, &image});
  if ((built.status == BuildStatus::kOk) != (built.table != nullptr)) std::abort();
  if (built.build_id_bytes > sizeof built.build_id) std::abort();
  walk_randomly(built.table, kLoadBias, image.last(std::min(size, kWalkBytes)));
  destroy_table(built.table);
  build_in_parts(image);
  build_with_debug_frame(image);
  build_registered(image);
  find_exported({kLoadBias + size / 2, kLoadBias + size}, kLoadBias, "__jit_debug_descriptor",
                {&read_image, &image});
  return 0;
}
