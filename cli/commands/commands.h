// The subcommands. main prints the failure that they return and exits with their code.
#pragma once

#include "cli/commands/output/outcome.h"
#include "cli/options/options.h"

namespace swipr::commands {

Outcome run_record(const options::RecordOptions& options);
Outcome run_convert(const options::ConvertOptions& options);
Outcome run_report(const options::ReportOptions& options);
Outcome run_top(const options::TopOptions& options);
Outcome run_latency(const options::LatencyOptions& options);
Outcome run_slower(const options::SlowerOptions& options);
Outcome run_trace(const options::TraceRecordOptions& options);
Outcome run_view(const options::ViewOptions& options);
Outcome run_agent(const options::AgentOptions& options);
Outcome run_push(const options::PushOptions& options);
Outcome run_list(const options::ListOptions& options);
Outcome run_preload_path();
Outcome run_install_preload(const options::InstallPreloadOptions& options);
Outcome run_doctor(const options::DoctorOptions& options);
// Started by the agent. Reads .swipr from stdin and writes an HTTP response to stdout.
Outcome run_answer(const options::AnswerOptions& options);

}  // namespace swipr::commands
