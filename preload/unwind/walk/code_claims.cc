#include "preload/unwind/walk/code_claims.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "preload/unwind/base/code_hash.h"

namespace swipr::unwind {

namespace {

// One word each, written and read atomically: a claim's hash, at the index that the hash
// determines.
constexpr std::size_t kRefutedCount = 256;
constinit std::array<std::atomic<std::uint64_t>, kRefutedCount> refuted{};

std::uint64_t key_of(const CodeClaim& claim) noexcept {
  std::uint64_t hash = static_cast<std::uint64_t>(claim.kind) + 1;
  for (const std::uint64_t word : {claim.address, claim.begin, claim.end}) {
    hash = hash_word(hash, word);
  }
  return hash;
}

}  // namespace

bool add_claim(std::span<CodeClaim, kMaxClaims> claims, std::uint32_t& count,
               const CodeClaim& claim) noexcept {
  const std::uint64_t key = key_of(claim);
  if (refuted[key % kRefutedCount].load(std::memory_order_relaxed) == key) return false;
  const auto known = claims.first(count);
  if (std::find(known.begin(), known.end(), claim) != known.end()) return true;
  if (count == claims.size()) return false;
  claims[count++] = claim;
  return true;
}

void note_refuted(const CodeClaim& claim) noexcept {
  const std::uint64_t key = key_of(claim);
  refuted[key % kRefutedCount].store(key, std::memory_order_relaxed);
}

void forget_refuted() noexcept {
  for (std::atomic<std::uint64_t>& each : refuted) each.store(0, std::memory_order_relaxed);
}

}  // namespace swipr::unwind
