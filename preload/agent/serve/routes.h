// Answers each request.
// Context: control thread.
#pragma once

#include "preload/agent/guest/settings.h"
#include "preload/agent/output/file_recording.h"
#include "preload/agent/serve/connection.h"
#include "preload/agent/serve/listener.h"

namespace swipr::agent {

// Context of the routes. Set once before the first connection.
struct RouteContext {
  const Settings* settings = nullptr;
  const Listener* default_listener = nullptr;
  FileRecording* file_recording = nullptr;
};
void set_route_context(const RouteContext& context) noexcept;

void route_request(Connection& connection);

}  // namespace swipr::agent
