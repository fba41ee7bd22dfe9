#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "tests/unit/preload/trace/unwinders.h"

namespace swipr::trace {
namespace {

void walk_with_libunwind(void* out) {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  do {
    unw_word_t pc = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    static_cast<Addresses*>(out)->push_back(pc);
  } while (unw_step(&cursor) > 0);
}

}  // namespace

std::vector<Walk> other_unwinders() { return {&walk_with_libunwind}; }

}  // namespace swipr::trace
