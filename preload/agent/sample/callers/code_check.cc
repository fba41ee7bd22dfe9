#include "preload/agent/sample/callers/code_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/code_checksum.h"
#include "preload/unwind/base/code_hash.h"
#include "preload/unwind/walk/leaf_end.h"

namespace swipr::agent {

namespace {

using unwind::CodeClaim;

// 0: there is no direct call.
std::uint64_t call_target_before(const ProcMemory& memory, std::uint64_t return_address,
                                 bool& is_readable) noexcept {
  std::uint64_t before = 0;
  is_readable =
      memory.read(return_address - sizeof before, std::as_writable_bytes(std::span(&before, 1)));
  return is_readable ? unwind::direct_call_target(before, return_address) : 0;
}

bool has_hash(const ProcMemory& memory, const CodeClaim& claim) noexcept {
  const unwind::CodeChecksum checksum{.begin = claim.address,
                                      .bytes = static_cast<std::uint32_t>(claim.begin),
                                      .hash = static_cast<std::uint32_t>(claim.end)};
  std::array<std::uint64_t, unwind::kMaxChecksumBytes / sizeof(std::uint64_t) + 2> words;
  const Range<std::uint64_t> all = checksum.words();
  const auto read = std::span(words).first((all.end - all.begin) / sizeof(std::uint64_t));
  if (!memory.read(all.begin, std::as_writable_bytes(read))) return false;
  std::uint64_t hash = 0;
  for (const std::uint64_t word : read) hash = unwind::hash_word(hash, word);
  return unwind::CodeChecksum::fold(hash) == checksum.hash;
}

bool is_true(const ProcMemory& memory, const unwind::CodeMap* map,
             const CodeClaim& claim) noexcept {
  if (claim.kind == CodeClaim::Kind::kHash) return has_hash(memory, claim);
  bool is_readable = false;
  const std::uint64_t target = call_target_before(memory, claim.address, is_readable);
  if (claim.kind == CodeClaim::Kind::kCallBefore)
    return target >= claim.begin && target < claim.end;
  return is_readable && (map == nullptr || map->find(target) == nullptr);
}

unsigned source_of(const unwind::FrameBuffer& frames, std::uint32_t frame) noexcept {
  return frames.kinds[frame] & ~std::uint32_t{unwind::kExactFrame};
}

// The claim was that the frame has not made a frame record yet, so that it has its caller's frame
// pointer. The caller that it had by this claim is left out if that frame pointer leads to the
// root: this is the walk that would have been made without the claim.
bool leave_out_caller(const CodeClaim& claim, unwind::FrameBuffer& frames) noexcept {
  const std::uint32_t caller = claim.frame + 1;
  if (claim.kind != CodeClaim::Kind::kCallBefore || frames.frame_count < caller + 2 ||
      (frames.flags & wire::kStackRootReached) == 0 || frames.pcs[caller] != claim.address ||
      source_of(frames, caller) != static_cast<unsigned>(wire::FrameSource::kGuess) ||
      source_of(frames, caller + 1) != static_cast<unsigned>(wire::FrameSource::kFramePointer)) {
    return false;
  }
  const auto close_up = [caller, &frames](auto& of_frames) {
    std::copy_n(of_frames.begin() + caller + 1, frames.frame_count - caller - 1,
                of_frames.begin() + caller);
  };
  close_up(frames.pcs);
  close_up(frames.kinds);
  close_up(frames.stacks);
  --frames.frame_count;
  if (frames.omitted_at != 0) --frames.omitted_at;
  for (CodeClaim& other : std::span(frames.claims).first(frames.claim_count)) {
    if (other.frame >= caller) --other.frame;
  }
  unwind::note_refuted(claim);
  return true;
}

void refute(const CodeClaim& claim, const unwind::CodeMap* map,
            unwind::FrameBuffer& frames) noexcept {
  // Other code has replaced the registered code: the map is rebuilt, with new hashes.
  if (claim.kind != CodeClaim::Kind::kHash) {
    unwind::note_refuted(claim);
  } else if (map != nullptr && map->checksums().contradicted != nullptr) {
    map->checksums().contradicted->store(true, std::memory_order_relaxed);
  }
  if (claim.kind == CodeClaim::Kind::kNoCallBefore) {
    frames.kinds[claim.frame] =
        static_cast<std::uint8_t>(frames.kinds[claim.frame] & ~unwind::kExactFrame);
  }
  frames.frame_count = claim.frame + 1;
  frames.omitted_at = 0;
  frames.flags = wire::kStackBroken;
}

// The claim is that the innermost frame has been called from the top of its stack.
bool returns_to_top(const ProcMemory& memory, const unwind::CodeMap* map, CallerSearch& callers,
                    const unwind::FrameBuffer& frames, const CodeClaim& claim) noexcept {
  if (claim.kind != CodeClaim::Kind::kCallBefore || map == nullptr || claim.frame != 0 ||
      frames.frame_count < 2 || frames.pcs[1] != claim.address) {
    return false;
  }
  const auto gap = CodeGap::find(*map, frames.pcs[0]);
  if (!gap) return false;
  const auto read_word = [&memory](std::uint64_t address, std::uint64_t& out) {
    return memory.read(address, std::as_writable_bytes(std::span(&out, 1)));
  };
  return callers.returns_to_top(memory, *gap, claim.address) ||
         (unwind::ends_as_leaf(gap->pc(), read_word) && follows_call(memory, *map, claim.address));
}

}  // namespace

void check_code_claims(const ProcMemory& memory, const unwind::CodeMap* map, CallerSearch& callers,
                       unwind::FrameBuffer& frames) noexcept {
  for (const CodeClaim& claim : std::span(frames.claims).first(frames.claim_count)) {
    if (is_true(memory, map, claim)) continue;
    if (returns_to_top(memory, map, callers, frames, claim)) continue;
    if (leave_out_caller(claim, frames)) continue;
    refute(claim, map, frames);
    break;
  }
  frames.claim_count = 0;
}

}  // namespace swipr::agent
