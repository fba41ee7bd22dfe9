// Attributes of a program as OpenTelemetry writes them into its environment. Pure.
#pragma once

#include <string>
#include <string_view>

namespace swipr::fleet {

// The value of `name` in "NAME=VALUE,NAME=VALUE", decoded; empty: none.
// Source: OTEL_RESOURCE_ATTRIBUTES of OpenTelemetry's SDKs, in the format of W3C baggage.
std::string find_attribute(std::string_view attributes, std::string_view name);

}  // namespace swipr::fleet
