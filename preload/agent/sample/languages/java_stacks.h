// The frames of a stack that lie in Java's code become the methods that run there: one for each
// interpreted frame, one or more for compiled code, none for stubs of the virtual machine.
// Context: control thread.  Allocates: never. 800 KiB of zeroed memory, touched as it is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/wire/format.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/record/stream/function_table.h"
#include "preload/agent/sample/languages/token_names.h"
#include "preload/handler/runtime_slots.h"
#include "preload/runtimes/java/java_names.h"
#include "preload/runtimes/token.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// What the names of a stack are read with.
struct NameSources {
  const handler::RuntimeSnapshot& snapshot;
  ProcMemory& memory;
  TokenNames& names;
  FunctionTable& functions;
  Moment now;
};

class JavaStacks {
 public:
  // `first` and `second`: tokens of the stack's inner and outer part, as walks left them. A frame
  // in Java's code that has no token there stays as it is. True: one of these lies where the
  // runtime knows no code, because the code cache has grown.
  bool name_frames(NameSources& sources, std::span<const runtimes::Token> first,
                   std::span<const runtimes::Token> second, unwind::FrameBuffer& frames) noexcept;

 private:
  // Methods at one place of compiled code.
  struct KnownPlace {
    static constexpr std::size_t kMost = 16;  // more are read each time
    std::uint64_t code;                       // 0: free
    std::uint64_t fingerprint;
    Moment read_at;
    std::uint32_t position;
    std::uint32_t count;
    std::array<std::uint64_t, kMost> pcs;
  };
  static constexpr std::size_t kPlaces = 4096;

  void begin() noexcept;
  void put(std::uint64_t pc, std::uint8_t kind) noexcept;
  void put_token(NameSources& sources, const runtimes::Token& token) noexcept;
  void put_compiled(NameSources& sources, const runtimes::Token& token) noexcept;
  void end(unwind::FrameBuffer& frames) noexcept;

  // The stack that is being made; of a deep one both ends, as in FrameBuffer.
  std::uint32_t count_;
  std::uint32_t omitted_at_;
  std::array<std::uint64_t, wire::kMaxFrames> pcs_;
  std::array<std::uint8_t, wire::kMaxFrames> kinds_;
  std::array<runtimes::Token, runtimes::kMaxJavaInlined> methods_;  // scratch
  std::array<KnownPlace, kPlaces> known_;
};

}  // namespace swipr::agent
