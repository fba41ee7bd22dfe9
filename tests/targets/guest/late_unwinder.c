/* A program without an unwinder loads a library that has one and registers CFI with it, as LuaJIT
 * does for its code. libgcc's __register_frame ends with a jump to another function of that kind.
 * The program itself registers CFI, too, if it sees such a function: without one it does not.
 * With -DIS_LIBRARY: the library. Argument: its path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef void by_table(const void*);

#ifdef IS_LIBRARY

extern by_table __register_frame;
extern by_table __deregister_frame;
struct dwarf_eh_bases {
  void* text;
  void* data;
  void* function;
};
extern const void* _Unwind_Find_FDE(const void* pc, struct dwarf_eh_bases* bases);

/* A CIE, an FDE for 16 bytes, an end. Source: DWARF, 6.4.1; Linux Standard Base, "DWARF Extensions".
 */
__asm__(
    ".pushsection .data, \"aw\"\n"
    ".balign 8\n"
    ".globl late_table\n"
    ".hidden late_table\n"
    "late_table:\n"
    "  .long 2f - 1f\n"
    "1: .long 0\n"
    "  .byte 1\n"
    "  .string \"zR\"\n"
    "  .uleb128 1\n"
    "  .sleb128 -8\n"
    "  .uleb128 16\n"
    "  .uleb128 1\n"
    "  .byte 0x1b\n"
    "  .balign 8\n"
    "2: .long 4f - 3f\n"
    "3: .long 3b - late_table\n"
    "  .long late_code - .\n"
    "  .long 16\n"
    "  .uleb128 0\n"
    "  .balign 8\n"
    "4: .long 0\n"
    ".globl late_code\n"
    ".hidden late_code\n"
    "late_code: .skip 16\n"
    ".popsection\n");
extern const char late_table[];
extern const char late_code[];

static int is_known(void) {
  struct dwarf_eh_bases bases;
  return _Unwind_Find_FDE(late_code + 1, &bases) != NULL;
}

__attribute__((visibility("default"))) void use_unwinder(by_table* of_program) {
  for (int round = 0; round != 3; ++round) {
    const int before = is_known();
    __register_frame(late_table);
    const int registered = is_known();
    __deregister_frame(late_table);
    printf("%d %d %d\n", before, registered, is_known());
  }
  if (of_program != NULL) of_program(late_table);
}

#else

extern by_table __register_frame __attribute__((weak));

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  void (*use)(by_table*) = library == NULL ? NULL : (void (*)(by_table*))dlsym(library, "use_unwinder");
  if (use == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  use(&__register_frame);
  printf("dlopen of nothing: %d\n", dlopen("/nowhere.so", RTLD_NOW) == NULL);
  return dlerror() != NULL ? 0 : 2;
}

#endif
