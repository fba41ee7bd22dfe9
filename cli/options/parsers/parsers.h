// One parser per subcommand: add_to() declares its options, finish() checks them against each
// other.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/options/parse.h"

namespace swipr::options {

struct RecordParser {
  RecordOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish(std::vector<std::string> command, bool has_separator);
};

struct ConvertParser {
  ConvertOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct ReportParser {
  ReportOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct TopParser {
  TopOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct LatencyParser {
  LatencyOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct TraceParser {
  TraceRecordOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct SlowerParser {
  SlowerOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct ViewParser {
  ViewOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish(std::vector<std::string> command, bool has_separator);

 private:
  ParseResult finish_live();
};

struct AgentParser {
  AgentOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();

 private:
  void add_recording_options();
  void add_process_options();
  void add_file_options();
  void add_store_options();
  void add_service_options();

  bool rotates_ = false;
  bool runs_once_ = false;
  bool uploads_ = false;
  std::string server_host_;
  std::string config_;  // read before the options are parsed
};

struct PushParser {
  PushOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct ListParser {
  ListOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct DoctorParser {
  DoctorOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish(std::vector<std::string> command, bool has_separator);
};

struct PreloadPathParser {
  PreloadPathOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct InstallPreloadParser {
  InstallPreloadOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

struct AnswerParser {
  AnswerOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent);
  ParseResult finish();
};

}  // namespace swipr::options
