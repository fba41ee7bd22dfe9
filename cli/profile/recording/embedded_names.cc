#include "cli/profile/recording/embedded_names.h"

#include <iterator>
#include <utility>

namespace swipr::profile {

namespace {

template <typename T>
std::uint32_t move_behind(std::vector<T>& into, std::vector<T>& from) {
  const auto first = static_cast<std::uint32_t>(into.size());
  into.insert(into.end(), std::make_move_iterator(from.begin()),
              std::make_move_iterator(from.end()));
  return first;
}

}  // namespace

void append(EmbeddedNames& names, EmbeddedNames other, std::uint32_t first_process) {
  const std::uint32_t texts = move_behind(names.texts, other.texts);
  const std::uint32_t files = move_behind(names.files, other.files);
  for (EmbeddedFunction& function : other.functions) {
    for (std::uint32_t* text : {&function.name, &function.linkage_name, &function.file}) {
      *text += texts;
    }
  }
  const std::uint32_t functions = move_behind(names.functions, other.functions);
  for (EmbeddedAddress& address : other.addresses) {
    address.file += files;
    address.first_function += functions;
  }
  move_behind(names.addresses, other.addresses);
  for (EmbeddedCode& code : other.code) code.process += first_process;
  move_behind(names.code, other.code);
  for (EmbeddedCodeGone& gone : other.code_gone) gone.process += first_process;
  move_behind(names.code_gone, other.code_gone);
}

}  // namespace swipr::profile
