#include "cli/push/requests/otlp.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "cli/push/requests/otlp_tags.h"
#include "common/host/text/count_text.h"

namespace swipr::push {

namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;
using Indexes = std::map<std::uint64_t, std::int32_t>;  // ids of the pprof file → places in a table

// The parts of a pprof file, as they are.
struct PprofParts {
  std::vector<pbf_reader> types, samples, mappings, locations, functions;
  std::vector<std::string> strings;
  pbf_reader period_type;
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
  std::int64_t period = 0;
};

bool is_bytes(const pbf_reader& message) {
  return message.wire_type() == protozero::pbf_wire_type::length_delimited;
}
bool is_number(const pbf_reader& message) {
  return message.wire_type() == protozero::pbf_wire_type::varint;
}

// Where the messages with this tag belong; null: nowhere.
std::vector<pbf_reader>* table_of(PprofParts& parts, Tag tag) {
  switch (tag) {
    case pprof::kSampleType:
      return &parts.types;
    case pprof::kSample:
      return &parts.samples;
    case pprof::kMapping:
      return &parts.mappings;
    case pprof::kLocation:
      return &parts.locations;
    case pprof::kFunction:
      return &parts.functions;
    default:
      return nullptr;
  }
}

PprofParts split(std::string_view bytes) {
  PprofParts parts;
  pbf_reader file(protozero::data_view(bytes.data(), bytes.size()));
  while (file.next()) {
    std::vector<pbf_reader>* const table = table_of(parts, file.tag());
    if (table != nullptr && is_bytes(file)) {
      table->push_back(file.get_message());
    } else if (file.tag() == pprof::kString && is_bytes(file)) {
      parts.strings.push_back(file.get_string());
    } else if (file.tag() == pprof::kPeriodType && is_bytes(file)) {
      parts.period_type = file.get_message();
    } else if (file.tag() == pprof::kTime && is_number(file)) {
      parts.time_ns = file.get_uint64();
    } else if (file.tag() == pprof::kDuration && is_number(file)) {
      parts.duration_ns = file.get_uint64();
    } else if (file.tag() == pprof::kPeriod && is_number(file)) {
      parts.period = file.get_int64();
    } else {
      file.skip();
    }
  }
  return parts;
}

// The integer fields of a message; absent: 0. Others are skipped.
template <std::size_t Count>
std::array<std::uint64_t, Count> numbers(pbf_reader message) {
  std::array<std::uint64_t, Count> values{};  // by tag
  while (message.next()) {
    if (message.tag() < Count && is_number(message)) {
      values[message.tag()] = message.get_uint64();
    } else {
      message.skip();
    }
  }
  return values;
}

std::string_view attribute_name(std::string_view label) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"service_name", "service.name"},
      {"version", "service.version"},
      {"host", "host.name"},
      {"container", "container.name"},
      {"pod", "k8s.pod.name"},
      {"comm", "process.command"},
      {"namespace", "k8s.namespace.name"}};
  for (const auto& [name, attribute] : kNames) {
    if (label == name) return attribute;
  }
  return label;
}

class OtlpWriter {
 public:
  explicit OtlpWriter(PprofParts parts) : parts_(std::move(parts)), strings_(parts_.strings) {
    if (strings_.empty()) strings_.emplace_back();
  }

  std::string write(const Labels& labels, std::string_view id) {
    add_tables();
    const std::string profile = make_profile(id);
    std::string bytes;
    pbf_writer request(bytes);
    {
      pbf_writer resource(request, otlp::kResources);
      write_resource(resource, labels);
      pbf_writer scopes(resource, otlp::kScopes);
      {
        pbf_writer scope(scopes, otlp::kScope);
        scope.add_string(otlp::kScopeName, "swipr");
        scope.add_string(otlp::kScopeVersion, SWIPR_VERSION);
      }
      scopes.add_message(otlp::kProfiles, profile);
    }
    write_dictionary(request);
    return bytes;
  }

 private:
  struct Type {
    std::uint64_t name = 0, unit = 0;  // strings
  };

  std::uint64_t string(std::string_view text) {
    for (std::size_t index = 0; index < strings_.size(); ++index) {
      if (strings_[index] == text) return index;
    }
    strings_.emplace_back(text);
    return strings_.size() - 1;
  }

  static void write_resource(pbf_writer& out, const Labels& labels) {
    pbf_writer resource(out, otlp::kResource);
    for (const auto& [name, value] : labels) {
      if (name.starts_with("__")) continue;
      pbf_writer attribute(resource, otlp::kResourceAttribute);
      attribute.add_string(otlp::kKey, std::string(attribute_name(name)));
      pbf_writer text(attribute, otlp::kValue);
      text.add_string(otlp::kText, value);
    }
  }

  // Each table begins with the zero value, an empty message.
  void add_tables() {
    for (const pbf_reader& mapping : parts_.mappings) add_mapping(mapping);
    for (const pbf_reader& function : parts_.functions) add_function(function);
    for (const pbf_reader& location : parts_.locations) add_location(location);
  }

  static void add(pbf_writer& out, Tag tag, std::uint64_t value) {
    if (value != 0) out.add_uint64(tag, value);
  }

  static std::uint64_t place(const Indexes& indexes, std::uint64_t id) {
    const auto found = indexes.find(id);
    return found == indexes.end() ? 0 : static_cast<std::uint64_t>(found->second);
  }

  // A new entry of a table, which is empty so far.
  static std::string& add_entry(std::vector<std::string>& table, Indexes& indexes,
                                std::uint64_t id) {
    std::string& entry = table.emplace_back();
    indexes.emplace(id, static_cast<std::int32_t>(table.size()));
    return entry;
  }

  void add_mapping(const pbf_reader& message) {
    const auto from = numbers<pprof::kBuildId + 1>(message);
    pbf_writer out(add_entry(mappings_, mapping_indexes_, from[pprof::kId]));
    add(out, otlp::kStart, from[pprof::kStart]);
    add(out, otlp::kLimit, from[pprof::kLimit]);
    add(out, otlp::kOffset, from[pprof::kOffset]);
    add(out, otlp::kFile, from[pprof::kFile]);
    const std::uint64_t build_id = from[pprof::kBuildId];
    if (build_id == 0 || build_id >= parts_.strings.size()) return;
    if (build_id_key_ == 0) build_id_key_ = string("process.executable.build_id.gnu");
    add_attribute(build_id_key_, parts_.strings[build_id]);
    out.add_uint64(otlp::kMappingAttributes, attributes_.size());
  }

  void add_function(const pbf_reader& message) {
    const auto from = numbers<pprof::kStartLine + 1>(message);
    pbf_writer out(add_entry(functions_, function_indexes_, from[pprof::kId]));
    add(out, otlp::kName, from[pprof::kName]);
    add(out, otlp::kSystemName, from[pprof::kSystemName]);
    add(out, otlp::kFunctionFile, from[pprof::kFunctionFile]);
    add(out, otlp::kStartLine, from[pprof::kStartLine]);
  }

  void add_location(pbf_reader message) {
    const auto from = numbers<pprof::kAddress + 1>(message);
    pbf_writer out(add_entry(locations_, location_indexes_, from[pprof::kId]));
    add(out, otlp::kLocationMapping, place(mapping_indexes_, from[pprof::kLocationMapping]));
    add(out, otlp::kAddress, from[pprof::kAddress]);
    while (message.next()) {
      if (message.tag() != pprof::kLine || !is_bytes(message)) {
        message.skip();
        continue;
      }
      const auto line = numbers<pprof::kLineNumber + 1>(message.get_message());
      pbf_writer to(out, otlp::kLine);
      add(to, otlp::kLineFunction, place(function_indexes_, line[pprof::kLineFunction]));
      add(to, otlp::kLineNumber, line[pprof::kLineNumber]);
    }
  }

  // Place of a stack with these locations.
  std::uint64_t stack_of(const std::vector<std::int32_t>& locations) {
    std::string bytes;
    pbf_writer(bytes).add_packed_int32(otlp::kLocationIndices, locations.begin(), locations.end());
    const auto [found, is_new] = stack_indexes_.try_emplace(bytes, stacks_.size() + 1);
    if (is_new) stacks_.push_back(std::move(bytes));
    return found->second;
  }

  // Place of an attribute with this key and text, both of them strings.
  std::uint32_t attribute_of(std::uint64_t key, std::uint64_t text) {
    const auto [found, is_new] =
        attribute_indexes_.try_emplace({key, text}, attributes_.size() + 1);
    if (is_new) add_attribute(key, text < parts_.strings.size() ? parts_.strings[text] : "");
    return static_cast<std::uint32_t>(found->second);
  }

  void add_attribute(std::uint64_t key, const std::string& text) {
    pbf_writer pair(attributes_.emplace_back());
    add(pair, otlp::kKey, key);
    pbf_writer value(pair, otlp::kValue);
    value.add_string(otlp::kText, text);
  }

  void write_sample(pbf_writer& profile, pbf_reader message) {
    std::vector<std::int32_t> locations;
    std::vector<std::uint32_t> attributes;
    std::int64_t value = 0;
    while (message.next()) {
      if (message.tag() == pprof::kSampleLocation && is_bytes(message)) {
        for (const std::uint64_t id : message.get_packed_uint64()) {
          locations.push_back(static_cast<std::int32_t>(place(location_indexes_, id)));
        }
      } else if (message.tag() == pprof::kSampleValue && is_bytes(message)) {
        for (const std::int64_t each : message.get_packed_int64()) value = each;
      } else if (message.tag() == pprof::kSampleLabel && is_bytes(message)) {
        const auto label = numbers<pprof::kLabelText + 1>(message.get_message());
        attributes.push_back(attribute_of(label[pprof::kLabelKey], label[pprof::kLabelText]));
      } else {
        message.skip();
      }
    }
    if (value <= 0) return;
    const std::uint64_t stack = stack_of(locations);
    pbf_writer sample(profile, otlp::kSamples);
    sample.add_uint64(otlp::kStackIndex, stack);
    if (!attributes.empty()) {
      sample.add_packed_uint32(otlp::kSampleAttributes, attributes.begin(), attributes.end());
    }
    sample.add_packed_int64(otlp::kSampleValues, &value, &value + 1);
  }

  static Type type_of(const pbf_reader& message) {
    const auto from = numbers<pprof::kTypeUnit + 1>(message);
    return {from[pprof::kTypeName], from[pprof::kTypeUnit]};
  }

  static void write_type(pbf_writer& profile, Tag tag, const Type& type) {
    pbf_writer out(profile, tag);
    add(out, otlp::kTypeName, type.name);
    add(out, otlp::kTypeUnit, type.unit);
  }

  std::string make_profile(std::string_view id) {
    Type type = parts_.types.empty() ? Type{} : type_of(parts_.types.back());
    Type period_type = type_of(parts_.period_type);
    std::int64_t period = parts_.period;
    const Type cpu{string("cpu"), string("nanoseconds")};
    if (type.name == cpu.name && type.unit == cpu.unit) {
      type = {string("samples"), string("count")};
      period_type = cpu;
      period = 1;
    }
    std::string bytes;
    pbf_writer profile(bytes);
    write_type(profile, otlp::kSampleType, type);
    for (const pbf_reader& sample : parts_.samples) write_sample(profile, sample);
    profile.add_fixed64(otlp::kTime, parts_.time_ns);
    profile.add_uint64(otlp::kDuration, parts_.duration_ns);
    write_type(profile, otlp::kPeriodType, period_type);
    profile.add_int64(otlp::kPeriod, period);
    profile.add_bytes(otlp::kProfileId, id.data(), id.size());
    return bytes;
  }

  static void write_table(pbf_writer& out, Tag tag, const std::vector<std::string>& entries) {
    out.add_message(tag, std::string());
    for (const std::string& entry : entries) out.add_message(tag, entry);
  }

  void write_dictionary(pbf_writer& request) const {
    pbf_writer out(request, otlp::kDictionary);
    write_table(out, otlp::kMappings, mappings_);
    write_table(out, otlp::kLocations, locations_);
    write_table(out, otlp::kFunctions, functions_);
    write_table(out, otlp::kLinks, {});
    for (const std::string& text : strings_) out.add_string(otlp::kStrings, text);
    write_table(out, otlp::kAttributes, attributes_);
    write_table(out, otlp::kStacks, stacks_);
  }

  PprofParts parts_;
  std::vector<std::string> strings_;
  std::vector<std::string> mappings_, locations_, functions_, attributes_, stacks_;
  Indexes mapping_indexes_, location_indexes_, function_indexes_;
  std::map<std::string, std::uint64_t> stack_indexes_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> attribute_indexes_;
  std::uint64_t build_id_key_ = 0;  // string
};

}  // namespace

host::Result<std::string> otlp_profile(std::string_view pprof, const Labels& labels,
                                       std::string_view id) {
  try {
    return OtlpWriter(split(pprof)).write(labels, id);
  } catch (const protozero::exception&) {
    return host::Error("not a pprof file");
  }
}

std::optional<std::string> otlp_rejection(std::string_view body) {
  constexpr Tag kPartialSuccess = 1;
  constexpr Tag kRejectedProfiles = 1;
  constexpr Tag kErrorMessage = 2;
  std::int64_t rejected = 0;
  std::string reason;
  try {
    pbf_reader answer(protozero::data_view(body.data(), body.size()));
    while (answer.next(kPartialSuccess, protozero::pbf_wire_type::length_delimited)) {
      pbf_reader part = answer.get_message();
      while (part.next()) {
        if (part.tag() == kRejectedProfiles && is_number(part)) {
          rejected = part.get_int64();
        } else if (part.tag() == kErrorMessage && is_bytes(part)) {
          reason = part.get_string();
        } else {
          part.skip();
        }
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;  // of a server that answers something else: its status counts
  }
  if (rejected <= 0) return std::nullopt;
  return fmt::format("{} not stored{}{}",
                     host::counted(static_cast<std::uint64_t>(rejected), "profile"),
                     reason.empty() ? "" : ": ", reason);
}

Request otlp_request(const StoreUrl& url, std::string profile) {
  return {url.path + "/v1development/profiles",
          {{"Content-Type", "application/x-protobuf"}, {"Content-Encoding", "gzip"}},
          std::move(profile)};
}

}  // namespace swipr::push
