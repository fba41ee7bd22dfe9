// How a subcommand ended: an exit code, or a failure that main prints.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "common/host/result.h"

namespace swipr::commands {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

struct Failure {
  std::string message;  // empty: already reported
  int exit_code = kFailed;
};

// An exit code, or a failure.
class [[nodiscard]] Outcome {
 public:
  Outcome(int exit_code) : state_(exit_code) {}
  Outcome(Failure failure) : state_(std::move(failure)) {}
  Outcome(const host::Error& error) : state_(Failure{error.message()}) {}

  int exit_code() const { return failed() ? std::get<1>(state_).exit_code : std::get<0>(state_); }
  bool failed() const { return state_.index() == 1; }
  std::string message() const { return failed() ? std::get<1>(state_).message : std::string(); }

 private:
  std::variant<int, Failure> state_;
};

}  // namespace swipr::commands
