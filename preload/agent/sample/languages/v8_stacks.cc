#include "preload/agent/sample/languages/v8_stacks.h"

#include <algorithm>

#include "preload/unwind/base/code_hash.h"

namespace swipr::agent {

std::span<const std::uint64_t> V8Stacks::expand(const runtimes::Token& token, std::uint64_t pc,
                                                const handler::RuntimeSnapshot& snapshot,
                                                ProcMemory& memory, TokenNames& names,
                                                FunctionTable& functions, Moment now) noexcept {
  constexpr std::chrono::seconds kPlaceTrusted{1};
  if (snapshot.v8.image.contains(pc)) return {};
  KnownPlace& known = known_[unwind::hash_word(pc, token.code) % kPlaces];
  if (known.function == token.code && known.fingerprint == token.fingerprint && known.pc == pc &&
      now - known.read_at < kPlaceTrusted) {
    return std::span(known.pcs).first(known.count);
  }
  runtimes::ObjectPieces reader(memory.image_reader());
  runtimes::V8CodePlace& place = code_[unwind::hash_word(token.code, 0) % kCodePlaces];
  std::size_t count = runtimes::expand_v8_token(snapshot.v8, reader, token, pc, place, found_);
  if (count != 0 && found_[count - 1].fingerprint != token.fingerprint) count = 0;
  for (std::size_t at = 0; at < count; ++at) {
    pcs_[at] = names.pc_of(found_[at], snapshot, memory, functions, now);
  }
  if (count <= KnownPlace::kMost) {
    known.function = token.code;
    known.fingerprint = token.fingerprint;
    known.pc = pc;
    known.read_at = now;
    known.count = static_cast<std::uint32_t>(count);
    std::copy_n(pcs_.begin(), count, known.pcs.begin());
  }
  return std::span(pcs_).first(count);
}

}  // namespace swipr::agent
