#include "preload/trace/search/function_search.h"

#include <sys/mman.h>

#include <algorithm>

#include "preload/trace/plan/branches.h"
#include "preload/trace/search/forbidden_names.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/cfi/cfi_section.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/image/frame_search.h"
#include "preload/unwind/image/section_copy.h"

namespace swipr::trace {

namespace {

constexpr std::size_t kLargestFunction = std::size_t{16} << 20;
constexpr std::uint64_t kShortBranch = 129;  // bytes that one of two bytes reaches

bool is_at(std::span<const std::byte> bytes, std::span<const std::uint8_t> wanted) noexcept {
  return bytes.size() >= wanted.size() &&
         std::ranges::equal(bytes.first(wanted.size()), wanted, {},
                            [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
}

// The first thing that is said of it, behind an instruction to land on: nothing has called it
// (_start). Source: DWARF 5, 7.24: advance_loc, undefined.
bool has_no_caller(const unwind::Fde& fde) noexcept {
  constexpr std::uint8_t kUndefined[] = {0x07, unwind::kReturnColumn};
  const bool advances = std::to_integer<unsigned>(fde.instructions.front()) >> 6 == 1;
  return is_at(fde.instructions.subspan(advances ? 1 : 0), kUndefined);
}

// The stack is as a call leaves it, and nothing changes before the first advance. What the compiler
// moved out of a function (.cold) has an FDE, too, and mostly a frame. It may be where an exception
// lands.
// Source: DWARF 5, 6.4.2 and 7.24: def_cfa, offset, advance_loc.
bool begins_as_called(const unwind::Cie& cie, const unwind::Fde& fde) noexcept {
  constexpr auto& kInitial = unwind::kCfiOfCallees;
  if (!is_at(cie.instructions, kInitial)) return false;
  for (const std::byte byte : cie.instructions.subspan(sizeof kInitial)) {
    if (byte != std::byte{0}) return false;
  }
  if (fde.instructions.empty()) return true;
  if (!unwind::kReturnAddressIsPushed && has_no_caller(fde)) return false;
  const auto first = std::to_integer<std::uint8_t>(fde.instructions.front());
  return first == 0 || (first >= 2 && first <= 4) || first >> 6 == 1;
}

// Of the FDEs that begin in the part and the last one before: calls take(range, is_function)
// with image addresses. False: unreadable, or there are too many.
template <typename Take>
bool for_each_fde(const unwind::BuildResult& image, Range<std::uint64_t> part,
                  unwind::ImageReader reader, Take take) noexcept {
  unwind::FdeList fdes;
  unwind::SectionCopy section;
  if (image.search.count == 0 ||
      unwind::find_fdes(image, part, reader, fdes) != unwind::BuildStatus::kOk ||
      section.open(image.eh_frame, image.load_bias, reader) != unwind::BuildStatus::kOk) {
    return false;
  }
  const unwind::CfiSection cfi(section.bytes(), image.eh_frame.begin, image.load_bias);
  for (std::size_t at = 0; at < fdes.size(); ++at) {
    const std::size_t position = fdes[at].position();
    if (!section.load_entry(position)) return false;
    const auto entry = cfi.parse_entry(position);
    const auto cie_entry = entry && !entry->is_cie ? cfi.parse_entry(entry->cie) : std::nullopt;
    const auto cie = cie_entry ? cfi.parse_cie(*cie_entry) : std::nullopt;
    const auto fde = cie ? cfi.parse_fde(*entry, *cie) : std::nullopt;
    if (fde && !cie->signal_frame) take(fde->code, begins_as_called(*cie, *fde));
  }
  return true;
}

bool is_exported(const unwind::BuildResult& image, std::uint64_t address,
                 unwind::ImageReader reader) noexcept {
  struct Wanted {
    std::uint64_t address;
    bool is_found;
  } wanted{address - image.load_bias, false};
  const auto compare = [](void* state, Range<std::uint64_t> function) noexcept {
    auto& looked_for = *static_cast<Wanted*>(state);
    looked_for.is_found = looked_for.is_found || function.begin == looked_for.address;
  };
  unwind::for_each_function(image.dynamic, image.load_bias, reader, {compare, &wanted});
  return wanted.is_found;
}

}  // namespace

FunctionSearch::~FunctionSearch() {
  if (bytes_.data != nullptr) ::munmap(bytes_.data, bytes_.size);
}

bool FunctionSearch::read(std::uint64_t address, std::span<std::uint8_t> out) const noexcept {
  if (!reader_.read(reader_.state, address, std::as_writable_bytes(out))) return false;
  const auto* const replaced = unwind::replaced_code.load(std::memory_order_acquire);
  if (replaced != nullptr) replaced->restore(address, out);
  return true;
}

bool FunctionSearch::copy_code(Range<std::uint64_t> code, Bytes& out) const noexcept {
  const std::size_t size = code.end - code.begin;
  if (code.empty() || size > kLargestFunction) return false;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  out = {static_cast<std::uint8_t*>(memory), size};
  return read(code.begin, {out.data, out.size});
}

Refusal FunctionSearch::find(std::uint64_t image_address, CalledFunctions handlers,
                             Plan& plan) noexcept {
  Range<std::uint64_t> found;
  for_each_fde(image_, {image_address, image_address + 1}, reader_,
               [&](Range<std::uint64_t> code, bool is_called) {
                 // By x30 nobody returns from a part that was moved out.
                 if (!is_called && !unwind::kReturnAddressIsPushed) return;
                 if (code.begin == image_address) found = code;
               });
  found = {found.begin + image_.load_bias, found.end + image_.load_bias};
  if (found.empty() || !copy_code(found, bytes_)) return Refusal::kNoFunction;
  function_ = {found.begin, {bytes_.data, bytes_.size}};
  if (is_needed_by_unwinding(image_, found.begin, reader_)) return Refusal::kNeededByUnwinding;
  if (std::ranges::find(handlers, found.begin) != handlers.end()) {
    return Refusal::kNeededByHandler;
  }
  Refusal refusal = make_plan(function_, plan);
  const Range<std::uint64_t> text{image_.text.begin + image_.load_bias,
                                  image_.text.end + image_.load_bias};
  if (refusal == Refusal::kNone) refusal = check_jump_tables(function_, plan, text, reader_);
  if (refusal == Refusal::kNone) refusal = check_neighbours(plan);
  return refusal == Refusal::kNone ? check_text(plan) : refusal;
}

Refusal FunctionSearch::check_neighbours(const Plan& plan) noexcept {
  const std::uint64_t begin = function_.address - image_.load_bias;
  Refusal refusal = Refusal::kNone;
  const bool is_read =
      for_each_fde(image_, {begin - 1, function_.end() - image_.load_bias + kShortBranch}, reader_,
                   [&](Range<std::uint64_t> code, bool) {
                     if (code.begin == begin || refusal != Refusal::kNone) return;
                     Bytes bytes;
                     const std::uint64_t address = code.begin + image_.load_bias;
                     if (copy_code({address, code.end + image_.load_bias}, bytes)) {
                       refusal = check_neighbour({address, {bytes.data, bytes.size}}, plan);
                     }
                     if (bytes.data != nullptr) ::munmap(bytes.data, bytes.size);
                   });
  return is_read ? refusal : Refusal::kNoFunction;
}

Refusal FunctionSearch::check_text(const Plan& plan) const noexcept {
  constexpr std::size_t kPiece = 64 << 10;
  constexpr std::size_t kOverlap = 6;  // the longest branch
  void* const memory =
      ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Refusal::kTooFar;
  auto* const piece = static_cast<std::uint8_t*>(memory);
  Refusal refusal = Refusal::kNone;
  Entries entries;
  for (const Range<std::uint64_t> code : code_) {
    for (std::uint64_t at = code.begin; at < code.end && refusal == Refusal::kNone;
         at += kPiece - kOverlap) {
      const std::span<std::uint8_t> bytes(piece, std::min<std::uint64_t>(kPiece, code.end - at));
      refusal = read(at, bytes) ? check_far_branches(bytes, at, plan) : Refusal::kOutsideBranch;
      find_entries(bytes, at, plan.function, entries);
    }
  }
  ::munmap(memory, kPiece);
  if (refusal != Refusal::kNone || !entries.are_jumps || entries.are_calls) return refusal;
  return is_exported(image_, plan.function, reader_) ? Refusal::kNone : Refusal::kNoFunction;
}

}  // namespace swipr::trace
