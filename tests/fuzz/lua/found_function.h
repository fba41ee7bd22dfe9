// A token as walks make it, of a function that lies at an address.
#pragma once

#include <cstdint>

#include "preload/runtimes/lua/lua_frames.h"

// It was called by itself, at an instruction.
inline swipr::runtimes::Token token_of_function(std::uint64_t address, std::uint32_t fingerprint,
                                                std::uint32_t position) {
  return {.code = address,
          .fingerprint = std::uint64_t{fingerprint} << 32 | fingerprint,
          .mark = swipr::runtimes::pack_lua_call(address, position),
          .position = position,
          .kind = swipr::runtimes::TokenKind::kLua};
}
