// The interface of libunwind-x86_64.so.8, which is loaded at run time: building swipr's library
// does not need its headers. A unit test compares these layouts with the headers.
// Source: unw_create_addr_space(3), unw_init_remote(3); libunwind 1.6, libunwind-common.h and
// libunwind-dynamic.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr::agent::libunwind {

using Word = std::uint64_t;
struct AddressSpace;  // opaque

// Errors are negative.
inline constexpr int kUnspecified = -1;
inline constexpr int kBadRegister = -3;
inline constexpr int kInvalid = -8;
inline constexpr int kNoInfo = -10;

inline constexpr int kCacheGlobal = 1;
inline constexpr int kInstructionPointer = 16;  // numbers of registers are DWARF's
inline constexpr int kStackPointer = 7;

// 127 words in 1.6; room for versions that need more.
struct Cursor {
  Word opaque[512];
};

struct ProcedureInfo {
  Word start_ip;
  Word end_ip;
  Word lsda;
  Word handler;
  Word gp;
  Word flags;
  int format;
  int unwind_info_size;
  void* unwind_info;
  Word spare[8];
};

// The search table of one image.
struct TableInfo {
  TableInfo* next;
  TableInfo* previous;
  Word start_ip;
  Word end_ip;
  Word gp;
  std::int32_t format;
  std::int32_t padding;
  Word load_offset;
  Word name;
  Word segment_base;
  Word table_words;
  Word table;
  Word spare[4];
};
inline constexpr std::int32_t kRemoteTable = 2;

struct Accessors {
  int (*find_proc_info)(AddressSpace*, Word ip, ProcedureInfo*, int need_unwind_info, void*);
  void (*put_unwind_info)(AddressSpace*, ProcedureInfo*, void*);
  int (*get_dyn_info_list_addr)(AddressSpace*, Word*, void*);
  int (*access_mem)(AddressSpace*, Word address, Word*, int write, void*);
  int (*access_reg)(AddressSpace*, int number, Word*, int write, void*);
  int (*access_fpreg)(AddressSpace*, int number, void*, int write, void*);
  int (*resume)(AddressSpace*, Cursor*, void*);
  int (*get_proc_name)(AddressSpace*, Word, char*, std::size_t, Word*, void*);
  void* spare[8];  // of later versions
};

}  // namespace swipr::agent::libunwind
