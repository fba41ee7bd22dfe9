#include "cli/live/call_history.h"

namespace swipr::live {

void CallHistory::set_traced(std::size_t function, bool is_traced, const std::string& reason) {
  Function& known = functions_[function];
  if (known.is_traced == is_traced && known.reason == reason) return;
  known.is_traced = is_traced;
  known.reason = reason;
  ++changes_;
}

void CallHistory::add(const CallRow& row) {
  rows_.push_back(row);
  while (rows_.size() > kMaxRows || rows_.front().second + kSeconds < row.second) {
    rows_.pop_front();
    ++first_row_;
  }
}

}  // namespace swipr::live
