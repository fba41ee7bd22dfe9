#include <fmt/format.h>

#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/output/terminal.h"
#include "cli/commands/stores/push_profiles.h"
#include "cli/push/environment.h"
#include "cli/push/sender.h"
#include "common/host/text/clean_text.h"
#include "common/host/text/count_text.h"

namespace swipr::commands {

namespace {

using options::PushOptions;

constexpr unsigned kMostRepetitions = 5;

class Pusher {
 public:
  Pusher(push::Sender sender, push::Labels headers)
      : sender_(std::move(sender)), headers_(std::move(headers)) {}

  host::Result<void> send(push::Request request) {
    request.headers.insert(request.headers.end(), headers_.begin(), headers_.end());
    for (unsigned repetition = 0;; ++repetition) {
      const auto answer = sender_.post(request);
      if (!answer) return answer.error();
      const push::Outcome outcome = push::outcome_of(*answer);
      if (outcome == push::Outcome::kStored) return {};
      const bool may_change = outcome == push::Outcome::kLater && !answer->is_lasting;
      if (!may_change || repetition == kMostRepetitions) {
        return host::Error(describe(outcome, *answer));
      }
      std::uniform_real_distribution<double> share(0, 1);
      std::this_thread::sleep_for(
          push::delay_before(repetition, answer->retry_after, share(random_)));
    }
  }

 private:
  static std::string describe(push::Outcome outcome, const push::Answer& answer) {
    std::string text = host::clean_text(answer.text);
    if (outcome == push::Outcome::kUnknown) {
      return "the connection broke after the profile was sent, so it may or may not be stored: " +
             text;
    }
    if (answer.status <= 0) return text;
    return fmt::format("HTTP status {}: {}", answer.status, text);
  }

  push::Sender sender_;
  push::Labels headers_;
  std::random_device random_;
};

Outcome push_all(const PushOptions& options, const push::StoreUrl& url, Pusher& pusher) {
  std::size_t sent = 0;
  for (const std::string& path : options.inputs) {
    std::vector<std::string> notes;
    auto requests = make_requests(options, url, path, notes);
    print_notes(notes);
    if (!requests) return requests.error();
    for (push::Request& request : *requests) {
      auto stored = pusher.send(std::move(request));
      if (!stored) {
        return stored.error().with_context(fmt::format("{} to {}", path, url.origin()));
      }
      ++sent;
    }
  }
  print_note(fmt::format("pushed {} to {}", host::counted(sent, "profile"), url.origin()));
  return kDone;
}

}  // namespace

Outcome run_push(const PushOptions& options) {
  const auto url = push::parse_store_url(options.url);
  if (!url) return Failure{"push: " + url.error().message(), kWrongUsage};
  const auto token = push::read_token(options.token_file);
  if (!token) return token.error();
  const auto proxy = push::choose_proxy(*url, push::proxy_variables());
  if (!proxy) return proxy.error();
  auto sender = push::Sender::start({url->origin(), *proxy, options.ca_file});
  if (!sender) return sender.error();
  Pusher pusher(*std::move(sender), push::headers_of(*url, {*token, options.tenant}));
  return push_all(options, *url, pusher);
}

}  // namespace swipr::commands
