// A swipr-send process that is connected to one store.
#pragma once

#include <sys/types.h>

#include <string>

#include "cli/push/requests/messages.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::push {

class Sender {
 public:
  // Errors: the program is missing or cannot be started.
  static host::Result<Sender> start(const SendPlace& place);
  Sender(Sender&& other) noexcept;
  Sender& operator=(Sender&&) = delete;
  // Ends the process and waits for it.
  ~Sender();

  // Passes the request on. The caller calls receive() next.
  // Errors: the process has ended.
  host::Result<void> send(const Request& request);
  // Blocks: until the store answers, at most a minute.
  // Errors: the process has ended.
  host::Result<Answer> receive();
  // Both.
  host::Result<Answer> post(const Request& request);

 private:
  Sender(pid_t pid, host::UniqueFd to, host::UniqueFd from);

  pid_t pid_ = -1;
  host::UniqueFd to_;
  host::UniqueFd from_;
  std::string unread_;
};

// The program beside this one (in the build tree), or in libexec/swipr.
host::Result<std::string> find_send_program();

}  // namespace swipr::push
