#include "cli/session/find/listing_json.h"

#include <nlohmann/json.hpp>

namespace swipr::session {

std::string format_listing_json(const Listing& listing) {
  std::string text = "[";
  for (const ListedProcess& process : listing.processes) {
    const nlohmann::ordered_json object = {
        {"pid", process.pid.value},
        {"command", process.command},
        {"threads", process.threads},
        {"age_seconds", std::chrono::duration<double>(process.age).count()},
        {"socket", process.socket}};
    // Names are bytes. Invalid UTF-8 is replaced, and control characters are escaped,
    // because the list may be printed on a terminal.
    text += text.size() == 1 ? "\n " : ",\n ";
    text += object.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  }
  return text + (text.size() == 1 ? "]\n" : "\n]\n");
}

}  // namespace swipr::session
