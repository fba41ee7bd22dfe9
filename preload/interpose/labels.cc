// The functions that include/swipr/swipr.h finds in the program's memory under one name.
#include <cstddef>

#include "preload/labels/thread_labels.h"

namespace {

using swipr::labels::Label;

int set(const char* key, std::size_t key_size, const char* value, std::size_t value_size) noexcept {
  return swipr::labels::set_label({key, key_size}, {value, value_size}) ? 0 : -1;
}

int begin(Label* scope, const char* key, std::size_t key_size, const char* value,
          std::size_t value_size) noexcept {
  return swipr::labels::begin_scope(*scope, {key, key_size}, {value, value_size}) ? 0 : -1;
}

void end(const Label* scope) noexcept { swipr::labels::end_scope(*scope); }

}  // namespace

extern "C" {

// The layout is that of struct swipr_label_functions in the header.
struct swipr_label_functions {
  decltype(&set) set_label;
  decltype(&begin) begin_scope;
  decltype(&end) end_scope;
};
[[gnu::visibility("default")]] extern const swipr_label_functions swipr_labels_1;
constinit const swipr_label_functions swipr_labels_1{&set, &begin, &end};

}  // extern "C"
