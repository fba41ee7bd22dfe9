// Mutated files of unwind tables. Each gets the right key and checksum, so that the checks after
// these are reached, then walks with arbitrary registers over arbitrary memory. Fails on a fault or
// a hang.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "preload/unwind/base/code_hash.h"
#include "preload/unwind/image/table_image.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/walk.h"

namespace {

using namespace swipr::unwind;

bool read_memory(void* state, std::uint64_t address, std::uint64_t& out) noexcept {
  const auto& table = *static_cast<const UnwindTable*>(state);
  const std::uint64_t random = (address ^ table.base) * 0x9e3779b97f4a7c15;
  out = random >> 62 == 0 ? address + random % 4096
                          : table.base + random % std::max<std::uint64_t>(table.covered_bytes, 1);
  return random >> 57 != 1;
}

void use(const UnwindTable& table, std::uint64_t seed) {
  static const auto frames = std::make_unique<FrameBuffer>();
  const std::uint64_t bytes = std::max<std::uint64_t>(table.covered_bytes, 1);
  const CodeRange range{
      .start = table.base, .end = std::max(table.base, table.base + bytes), .table = &table};
  Registers registers;
  for (unsigned reg = 0; reg < Registers::kCount; ++reg) registers.values[reg] = seed * (reg + 1);
  for (std::uint64_t at = 0; at < 64; ++at) {
    const std::uint64_t pc = table.base + (seed >> 8) * (at + 1) % bytes;
    static_cast<void>(table.function_start(pc));
    registers.values[kPc] = pc;
    registers.known = static_cast<std::uint32_t>(seed) | 1u << kPc | 1u << kRsp;
    walk(CodeMap(std::span(&range, 1)), registers, {&read_memory, const_cast<UnwindTable*>(&table)},
         *frames);
  }
}

// The checksum over the parts by the sizes in the header; no effect if they do not fit.
void mend(std::span<std::byte> file, TableKey& key) {
  TableHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  key = header.key;
  const std::uint64_t pages = (header.covered_bytes >> (header.page_shift & 31)) + 2;
  const std::uint64_t sizes[] = {pages * 4,
                                 std::uint64_t{header.row_count} * 4,
                                 std::uint64_t{header.function_count} * 4,
                                 std::uint64_t{header.rule_count} * sizeof(Rule),
                                 std::uint64_t{header.location_count} * sizeof(Location),
                                 std::uint64_t{header.row_count} * 2,
                                 header.pool_bytes};
  header.checksum = 0;
  auto rest = file.subspan(sizeof header);
  for (const std::uint64_t size : sizes) {
    if (size > rest.size()) return;
    header.checksum = hash_bytes(rest.first(static_cast<std::size_t>(size)), header.checksum);
    rest = rest.subspan(static_cast<std::size_t>(size));
  }
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < sizeof(TableHeader)) return 0;
  const std::size_t mapped = (kTableImageAt + size + 4095) / 4096 * 4096;
  void* const memory =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  const std::span file(static_cast<std::byte*>(memory) + kTableImageAt, size);
  std::memcpy(file.data(), data, size);
  TableKey key;
  mend(file, key);
  const UnwindTable* const table = open_table_image({memory, mapped}, size, key);
  if (table == nullptr) {
    ::munmap(memory, mapped);
    return 0;
  }
  std::uint64_t seed = 0;
  std::memcpy(&seed, data + size - std::min<std::size_t>(size, 8), std::min<std::size_t>(size, 8));
  use(*table, seed | 1);
  destroy_table(table);
  return 0;
}
