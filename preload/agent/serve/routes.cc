#include "preload/agent/serve/routes.h"

#include <unistd.h>

#include "preload/agent/base/log.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/modules/files/module_file.h"
#include "preload/agent/serve/info_page.h"
#include "preload/agent/serve/request/sample_request.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kModules = "/v1/modules/";

RouteContext context;

void answer_text(Connection& connection, int status, std::string_view text) {
  connection.body().clear();
  connection.body().append(text).append('\n');
  connection.answer(status, kText);
}

void answer_help(Connection& connection) {
  write_help(connection.listener(), connection.body());
  connection.answer(200, kText);
}

void answer_not_found(Connection& connection) {
  connection.body().append("404: there is no ").append(connection.request().path()).append("\n\n");
  write_help(connection.listener(), connection.body());
  connection.answer(404, kText);
}

void answer_info(Connection& connection) {
  RuntimeRegistry survey;
  write_info_json(*context.settings, *context.default_listener, recorder().counters(),
                  recorder().find_runtimes(survey), connection.body());
  connection.answer(200, "application/json");
}

void answer_pprof_index(Connection& connection) {
  write_pprof_index(connection.body());
  connection.answer(200, "text/html; charset=utf-8");
}

void answer_command_line(Connection& connection) {
  write_command_line(connection.body());
  connection.answer(200, kText);
}

void answer_raw(Connection& connection, const RecordingRequest& request, bool ends_on_half_close) {
  const char* error = connection.start_recording(request);
  if (error != nullptr) return answer_text(connection, 503, error);
  FixedText<128> name;
  write_file_name(AnswerFormat::kRaw, name);
  connection.stream_recording(name.view(), ends_on_half_close);
}

void answer_symbolized(Connection& connection, const SampleRequest& request,
                       std::string_view file_name) {
  PathText program;
  if (!find_swipr_program(*context.settings, program)) {
    return answer_text(connection, 501,
                       "names need the swipr program, which is neither in SWIPR_PROGRAM, nor "
                       "next to libswipr_preload.so, nor in PATH; the format raw does not need it");
  }
  const char* error = connection.start_recording(request.recording);
  if (error != nullptr) return answer_text(connection, 503, error);
  FixedText<128> name(file_name);
  error = connection.hand_to_helper(
      *context.settings,
      {.program = program.c_str(), .format = request.format, .disposition = name.c_str()});
  if (error != nullptr) answer_text(connection, 501, error);
}

void answer_sample(Connection& connection) {
  SampleRequest request;
  FixedText<512> error;
  if (!parse_sample_request(connection.request().body(), request, error)) {
    return answer_text(connection, 400, error.view());
  }
  if (request.format == AnswerFormat::kRaw) return answer_raw(connection, request.recording, false);
  FixedText<128> name;
  write_file_name(request.format, name);
  answer_symbolized(connection, request, name.view());
}

void answer_profile(Connection& connection) {
  SampleRequest request;
  request.format = AnswerFormat::kPprof;
  FixedText<512> error;
  if (!parse_profile_query(connection.request().query(), request.recording, error)) {
    return answer_text(connection, 400, error.view());
  }
  if (connection.wants_head_only()) return connection.answer_head("application/octet-stream");
  answer_symbolized(connection, request, "profile");
}

// nullptr: the client may trace functions, and is named in `request`.
const char* find_trace_refusal(Connection& connection, RecordingRequest& request) noexcept {
  if (!context.settings->trace) return "SWIPR_TRACE forbids tracing functions of this process";
  const Listener* const listener = connection.listener();
  if (listener != nullptr && listener->is_tcp) {
    return "functions can be traced over the UNIX socket only";
  }
  const Peer peer = find_peer(connection.descriptor());
  if (!peer.is_trusted) return "functions can be traced by the user of the process only";
  request.client_pid = peer.pid;
  request.client_uid = peer.uid;
  return nullptr;
}

void answer_record(Connection& connection) {
  RecordingRequest request;
  FixedText<512> error;
  if (!parse_record_request(connection.request().body(), request, error)) {
    return answer_text(connection, 400, error.view());
  }
  if (!request.probes.empty()) {
    const char* const refusal = find_trace_refusal(connection, request);
    if (refusal != nullptr) return answer_text(connection, 403, refusal);
  }
  answer_raw(connection, request, true);
}

// TCP does not tell who asks: its clients may not make files in the program's name.
bool may_write_files(Connection& connection) {
  const Listener* const listener = connection.listener();
  if (listener != nullptr && !listener->is_tcp) return true;
  answer_text(connection, 403, "files are written only for clients of the socket");
  return false;
}

void answer_file_start(Connection& connection) {
  RecordingRequest request;
  PathText path;
  FixedText<512> error;
  if (!may_write_files(connection)) return;
  if (!parse_file_request(connection.request().body(), request, path, error)) {
    return answer_text(connection, 400, error.view());
  }
  const char* const problem = context.file_recording->start(path.view(), request, ::getpid());
  answer_text(connection, problem == nullptr ? 200 : 503,
              problem == nullptr ? "recording" : problem);
}

void answer_file_end(Connection& connection) {
  if (!may_write_files(connection)) return;
  const bool was_running = context.file_recording->is_running();
  context.file_recording->finish(wire::EndReason::kStopped, "");
  answer_text(connection, was_running ? 200 : 404, was_running ? "ended" : "there is no recording");
}

void answer_module(Connection& connection) {
  const std::string_view build_id = skip(connection.request().path(), kModules.size());
  const ModuleFile file = open_module_file(build_id);
  if (file.fd < 0) return answer_text(connection, 404, "no executable mapping has this build-id");
  connection.send_file(file.fd, file.size_bytes);
}

struct Route {
  std::string_view path;
  std::string_view method;
  void (*answer)(Connection& connection);
};

constexpr Route kRoutes[] = {
    {"/", "GET", answer_help},
    {"/", "POST", answer_sample},
    {"/sample", "POST", answer_sample},
    {"/samples", "POST", answer_sample},
    {"/debug/pprof/profile", "GET", answer_profile},
    {"/debug/pprof/", "GET", answer_pprof_index},
    {"/debug/pprof", "GET", answer_pprof_index},
    {"/debug/pprof/cmdline", "GET", answer_command_line},
    {"/v1/info", "GET", answer_info},
    {"/v1/record", "POST", answer_record},
    {"/v1/file", "POST", answer_file_start},
    {"/v1/file", "DELETE", answer_file_end},
    {kModules, "GET", answer_module},
};

bool matches(const Route& route, std::string_view path) noexcept {
  if (route.path == kModules) return path.starts_with(kModules);
  return route.path == path;
}

// HEAD is answered as GET would be, without the body: RFC 9110, 9.3.2.
bool takes(const Route& route, std::string_view method) noexcept {
  return route.method == (method == "HEAD"sv ? "GET"sv : method);
}

void answer_wrong_method(Connection& connection, std::string_view allowed) {
  FixedText<128> header;
  header.append("allow: ").append(allowed).append("\r\n");
  connection.body().append("405: use ").append(allowed).append('\n');
  connection.answer(405, kText, header.view());
}

// Refuses requests that pages of other sites send by a browser, which can reach TCP ports. nullptr:
// accepted.
const char* find_web_attack(Connection& connection) noexcept {
  const Listener* listener = connection.listener();
  if (listener == nullptr || !listener->is_tcp) return nullptr;
  const std::string_view host = connection.request().host();
  const std::string_view origin = connection.request().origin();
  // A page whose host name resolves to this machine (DNS rebinding) could read the answers.
  if (!context.settings->allow_remote && !host.empty() && !is_loopback_host(host)) {
    return "the Host header is not an address of this machine";
  }
  if (!origin.empty() && !is_same_origin(origin, host)) {
    return "the Origin header names another site";
  }
  return nullptr;
}

// TCP does not identify users. A token that is set is required on loopback, too.
bool lacks_token(Connection& connection) noexcept {
  const Listener* listener = connection.listener();
  const std::string_view token = context.settings->server_token;
  if (listener == nullptr || !listener->is_tcp || token.empty()) return false;
  return !is_same_secret(connection.request().bearer_token(), token);
}

}  // namespace

void set_route_context(const RouteContext& new_context) noexcept { context = new_context; }

void route_request(Connection& connection) {
  FixedText<512> line;
  line.append(connection.request().method()).append(' ').append(connection.request().path());
  log_line(LogLevel::kDebug, "request", line.view());
  if (const char* reason = find_web_attack(connection); reason != nullptr) {
    return answer_text(connection, 403, reason);
  }
  if (lacks_token(connection)) {
    connection.body().append(
        "401: send the header \"Authorization: Bearer TOKEN\" with the token of this process\n");
    return connection.answer(401, kText, "www-authenticate: Bearer\r\n");
  }
  const std::string_view path = connection.request().path();
  FixedText<64> allowed;
  for (const Route& route : kRoutes) {
    if (!matches(route, path)) continue;
    if (takes(route, connection.request().method())) return route.answer(connection);
    allowed.append(allowed.empty() ? ""sv : ", "sv).append(route.method);
    if (route.method == "GET"sv) allowed.append(", HEAD");
  }
  if (allowed.empty()) return answer_not_found(connection);
  answer_wrong_method(connection, allowed.view());
}

}  // namespace swipr::agent
