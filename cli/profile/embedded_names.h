// Names that a recording carries itself: of code that the process told debuggers about, and all
// (`record --embed-symbols`). Pure data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace swipr::profile {

// One source-level function; names are indexes of texts, the first of which is empty.
struct EmbeddedFunction {
  std::uint32_t name = 0;  // demangled
  std::uint32_t linkage_name = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t start_line = 0;
  std::uint64_t offset = 0;  // bytes from the function's start
  bool inlined = false;
};

// A place in a file, in ELF's terms that of a looked-up byte. It was looked up and has these
// functions, innermost inlined one first; one without a name: nothing is known but where it begins.
struct EmbeddedAddress {
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t first_function = 0;
  std::uint32_t function_count = 0;
};

struct EmbeddedFile {
  std::string path;  // as Module has them
  std::string build_id;
};

struct EmbeddedLine {
  std::uint64_t offset = 0;
  std::uint32_t line = 0;
  std::string file;
};

// A piece of generated code. Where pieces overlap the last one that was valid holds.
struct EmbeddedCode {
  std::uint32_t process = 0;
  std::uint64_t start = 0;
  std::uint64_t size_bytes = 0;
  std::chrono::nanoseconds valid_from{0};  // CLOCK_MONOTONIC; 0: always
  std::string name;
  std::vector<EmbeddedLine> lines;  // ascending
  std::uint64_t object = 0;         // that it belongs to; 0: none
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

// Adds `other`, whose processes become those from `first_process` on.
void append(EmbeddedNames& names, EmbeddedNames other, std::uint32_t first_process);

}  // namespace swipr::profile
