// What GDB's JIT interface has of generated code: a list of ELF objects in memory.
// Source: GDB manual, "JIT Compilation Interface"; ELF-64 gABI.
#pragma once

#include <elf.h>

#include <cstdint>

#include "tests/targets/stacks/generated_code.h"

namespace generated_code {

struct JitEntry {
  JitEntry* next;
  JitEntry* previous;
  const void* object;
  std::uint64_t object_bytes;
};
struct JitDescriptor {
  std::uint32_t version;
  std::uint32_t action;
  JitEntry* relevant;
  JitEntry* first;
};

inline constexpr char kSectionNames[] = "\0.text\0.eh_frame\0.symtab\0.strtab";
enum Section : unsigned { kNone, kText, kEhFrame, kSymbols, kNames, kSectionNamesToo, kCount };

// One function. Relocatable objects, as LLVM leaves them, point to what was loaded; others hold all
// that they tell.
struct JitObject {
  Elf64_Ehdr header;
  Elf64_Shdr sections[kCount];
  Elf64_Sym symbols[2];
  CallFrames frames;
  char names[32];
  char section_names[sizeof kSectionNames];
};

inline Elf64_Off offset_of(const JitObject& object, const void* part) {
  return static_cast<Elf64_Off>(static_cast<const char*>(part) -
                                reinterpret_cast<const char*>(&object));
}

inline void add_section(JitObject& object, Section section, unsigned type, const void* part,
                        std::size_t bytes) {
  constexpr unsigned kNameAt[] = {0, 1, 7, 17, 25, 0};
  Elf64_Shdr& header = object.sections[section];
  header.sh_name = kNameAt[section];
  header.sh_type = type;
  header.sh_offset = offset_of(object, part);
  header.sh_size = bytes;
}

inline void describe(JitObject& object, const Page& page, const char* name, unsigned type) {
  const bool is_relocatable = type == ET_REL;
  const auto code = reinterpret_cast<Elf64_Addr>(page.code);
  object = {};
  std::memcpy(object.header.e_ident, ELFMAG, SELFMAG);
  object.header.e_ident[EI_CLASS] = ELFCLASS64;
  object.header.e_ident[EI_DATA] = ELFDATA2LSB;
  object.header.e_type = static_cast<Elf64_Half>(type);
  object.header.e_machine = kElfMachine;
  object.header.e_shoff = offset_of(object, object.sections);
  object.header.e_shentsize = sizeof(Elf64_Shdr);
  object.header.e_shnum = kCount;
  object.header.e_shstrndx = kSectionNamesToo;
  add_section(object, kText, SHT_NOBITS, &object, page.frames.code_bytes);
  object.sections[kText].sh_addr = code;
  add_section(object, kEhFrame, SHT_PROGBITS, &object.frames, sizeof object.frames);
  if (is_relocatable) {
    object.sections[kEhFrame].sh_addr = reinterpret_cast<Elf64_Addr>(&page.frames);
  } else {
    object.frames = page.frames;
  }
  add_section(object, kSymbols, SHT_SYMTAB, object.symbols, sizeof object.symbols);
  object.sections[kSymbols].sh_link = kNames;
  add_section(object, kNames, SHT_STRTAB, object.names, sizeof object.names);
  add_section(object, kSectionNamesToo, SHT_STRTAB, object.section_names, sizeof kSectionNames);
  std::memcpy(object.section_names, kSectionNames, sizeof kSectionNames);
  std::strncpy(object.names + 1, name, sizeof object.names - 2);
  Elf64_Sym& symbol = object.symbols[1];
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = kText;
  symbol.st_value = is_relocatable ? 0 : code;
  symbol.st_size = page.frames.code_bytes;
}

}  // namespace generated_code
