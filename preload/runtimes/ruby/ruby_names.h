// What a token of Ruby says: function, file and lines. They are read after the frame was seen, so
// its code may have been collected: the token's fingerprint is compared before and after everything
// else is read, and a difference is a loss, never a guess.
// Context: control thread.  Allocates: never.  Bounds: 4,096 bytes of a text; ordinarily 6 to 10
// reads of 512 bytes.
#pragma once

#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/ruby/ruby_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

// False: the function is gone, or was never one; `out` is undefined. Both functions discard the
// reader's pieces.
bool read_ruby_function(const RubyRuntime& ruby, ObjectPieces& reader, const Token& token,
                        FunctionText& out) noexcept;

// Adds the name with that number (ID), from the table of names.
bool append_ruby_name(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t names,
                      std::uint64_t name, BoundedText<1024>& out) noexcept;

// The line that runs at the token's position, without one that of the function; 0: unknown. False
// as above.
bool read_ruby_line(const RubyRuntime& ruby, ObjectPieces& reader, const Token& token,
                    std::uint32_t& line) noexcept;

// 2.7: the execution context of a thread that does not hold the lock of the interpreter, from the
// list of all threads; 0: none.  Bounds: 4,096 threads.
std::uint64_t find_listed_ruby_context(const RubyRuntime& ruby, ObjectPieces& reader,
                                       std::uint64_t thread_pointer) noexcept;

}  // namespace swipr::runtimes
