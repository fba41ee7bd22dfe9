// The library that contains this code.
#pragma once

// Its ELF header; made by the linker.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start;
