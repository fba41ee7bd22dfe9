// The subcommands. main prints the failure that they return and exits with their code.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "cli/options/options.h"
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

Outcome run_record(const options::RecordOptions& options);
Outcome run_convert(const options::ConvertOptions& options);
Outcome run_report(const options::ReportOptions& options);
Outcome run_view(const options::ViewOptions& options);
Outcome run_list(const options::ListOptions& options);
Outcome run_preload_path();
Outcome run_doctor(const options::DoctorOptions& options);
// Started by the agent. Reads .swipr from stdin and writes an HTTP response to stdout.
Outcome run_answer(const options::AnswerOptions& options);

}  // namespace swipr::commands
