// swipr-send: sends requests that arrive on standard input, one after the other, and writes what
// was answered to standard output. Each message is a line of JSON; that of a request is followed by
// the bytes of its body. The first line says where to: no secret is in the arguments.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "cli/push/requests/messages.h"
#include "cli/push/send/http_client.h"

namespace {

using namespace swipr;

void say(const push::Answer& answer) {
  std::cout << push::format_answer(answer) << '\n' << std::flush;
}

int serve() {
  std::string line;
  if (!std::getline(std::cin, line)) return 2;
  const auto place = push::parse_place(line);
  if (!place) return 2;
  auto client = push::HttpClient::create(*place);
  while (std::getline(std::cin, line)) {
    auto request = push::parse_request(line);
    if (!request) return 2;
    std::string body(request->body_bytes, '\0');
    if (!std::cin.read(body.data(), static_cast<std::streamsize>(body.size()))) return 2;
    request->request.body = std::move(body);
    if (!client) {
      push::Answer failure;
      failure.status = -1;
      failure.text = client.error().message();
      say(failure);
    } else {
      say(client->post(request->request));
    }
  }
  return 0;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  try {
    return serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swipr-send: internal error: %s\n", error.what());
    return 2;
  }
}
