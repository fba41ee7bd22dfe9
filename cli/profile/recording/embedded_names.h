// Names stored in a recording: those of code that the process registered with debuggers, or all
// (`record --embed-symbols`). Pure data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace swipr::profile {

// One source-level function. Names are indexes of texts; text 0 is empty.
struct EmbeddedFunction {
  std::uint32_t name = 0;  // demangled
  std::uint32_t linkage_name = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t start_line = 0;
  std::uint64_t offset = 0;  // bytes from the function's start
  bool inlined = false;
};

// A symbolized file offset (that of the looked-up byte) with its functions, innermost inlined
// one first. A function without a name: only its start is known.
struct EmbeddedAddress {
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t first_function = 0;
  std::uint32_t function_count = 0;
};

struct EmbeddedFile {
  std::string path;  // as in Module
  std::string build_id;
};

struct EmbeddedLine {
  std::uint64_t offset = 0;
  std::uint32_t line = 0;
  std::string file;
};

// A range of generated code. If ranges overlap, the last valid one is used.
struct EmbeddedCode {
  std::uint32_t process = 0;
  std::uint64_t start = 0;
  std::uint64_t size_bytes = 0;
  std::chrono::nanoseconds valid_from{0};  // CLOCK_MONOTONIC; 0: always
  std::string name;
  std::vector<EmbeddedLine> lines;  // ascending
  std::uint64_t object = 0;         // the object it belongs to; 0: none
};

// All code of the object.
struct EmbeddedCodeGone {
  std::uint32_t process = 0;
  std::uint64_t object = 0;
  std::chrono::nanoseconds valid_until{0};  // CLOCK_MONOTONIC
};

struct EmbeddedNames {
  std::vector<std::string> texts = {std::string()};
  std::vector<EmbeddedFile> files;
  std::vector<EmbeddedFunction> functions;
  std::vector<EmbeddedAddress> addresses;
  std::vector<EmbeddedCode> code;
  std::vector<EmbeddedCodeGone> code_gone;
};

// Appends `other`. Its first process becomes `first_process`.
void append(EmbeddedNames& names, EmbeddedNames other, std::uint32_t first_process);

}  // namespace swipr::profile
