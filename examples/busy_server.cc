// A small web server to profile while it serves.
//   GET /busy?ms=20  burns that much CPU time, then answers
//   GET /idle?ms=20  waits that long, then answers
//   GET /sample/2    answers with a pprof file of itself during 2 s, if it runs with the preload;
//                    its samples have the label "endpoint"
// usage: example_busy_server [PORT]      (default 8080, 0: a free one; loopback only)
#include <httplib.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "include/swipr/swipr.h"

namespace {

std::chrono::nanoseconds thread_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

std::chrono::milliseconds requested_time(const httplib::Request& request) {
  int milliseconds = 20;
  const std::string text = request.get_param_value("ms");
  std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  return std::chrono::milliseconds(std::min(std::max(milliseconds, 0), 10'000));
}

[[gnu::noinline]] std::uint64_t collatz_steps(std::uint64_t number) {
  std::uint64_t steps = 0;
  for (; number != 1; ++steps) number = number % 2 == 0 ? number / 2 : 3 * number + 1;
  return steps;
}

[[gnu::noinline]] std::uint64_t burn_cpu(std::chrono::nanoseconds time) {
  const auto end = thread_cpu() + time;
  std::uint64_t steps = 0;
  for (std::uint64_t number = 1; thread_cpu() < end;) {
    for (const std::uint64_t stop = number + 500; number < stop; ++number)
      steps += collatz_steps(number);
  }
  return steps;
}

void answer_profile(const httplib::Request& request, httplib::Response& response) {
  const int seconds = std::atoi(request.matches[1].str().c_str());
  char path[] = "/tmp/busy_server.XXXXXX.pb.gz";
  const int file = ::mkstemps(path, 6);
  if (file < 0) return;
  ::close(file);
  const unsigned samples = 100 * static_cast<unsigned>(std::max(seconds, 1));
  if (swipr_request_samples(path, samples, 10'000) == 0) {
    std::ifstream profile(path, std::ios::binary);
    response.set_content(std::string(std::istreambuf_iterator<char>(profile), {}),
                         "application/octet-stream");
    response.set_header("Content-Disposition", "attachment; filename=\"busy_server.pb.gz\"");
  } else {
    response.status = 501;
    response.set_content("no profile: start the server with libswipr_preload.so\n", "text/plain");
  }
  ::unlink(path);
}

}  // namespace

int main(int argc, char** argv) {
  int port = argc > 1 ? std::atoi(argv[1]) : 8080;
  httplib::Server server;
  server.Get("/busy", [](const httplib::Request& request, httplib::Response& response) {
    const swipr::Label label("endpoint", "/busy");
    response.set_content(std::to_string(burn_cpu(requested_time(request))) + " steps\n",
                         "text/plain");
  });
  server.Get("/idle", [](const httplib::Request& request, httplib::Response& response) {
    const swipr::Label label("endpoint", "/idle");
    std::this_thread::sleep_for(requested_time(request));
    response.set_content("rested\n", "text/plain");
  });
  server.Get(R"(/sample/(\d{1,2}))", answer_profile);
  const bool is_any = port == 0;
  if (is_any) port = server.bind_to_any_port("127.0.0.1");
  if (port < 0 || (!is_any && !server.bind_to_port("127.0.0.1", port))) {
    std::fprintf(stderr, "busy_server: cannot listen on 127.0.0.1:%d; give another port\n", port);
    return 1;
  }
  std::printf("listening on http://127.0.0.1:%d (/busy?ms=20, /idle?ms=20, /sample/2)\n", port);
  std::fflush(stdout);
  return server.listen_after_bind() ? 0 : 1;
}
