#include "tests/golden/pprof_text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <vector>

namespace swipr::golden {

namespace {
// A message's fields by number, in order. Strings and messages stay views into the profile.
struct Fields {
  std::map<std::uint32_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint32_t, std::vector<protozero::data_view>> views;

  explicit Fields(protozero::data_view bytes) {
    protozero::pbf_reader reader(bytes);
    while (reader.next()) {
      if (reader.wire_type() == protozero::pbf_wire_type::varint) {
        numbers[reader.tag()].push_back(reader.get_uint64());
      } else {
        views[reader.tag()].push_back(reader.get_view());
      }
    }
  }
  std::uint64_t number(std::uint32_t tag) const {
    const auto place = numbers.find(tag);
    return place == numbers.end() ? 0 : place->second.at(0);
  }
};

std::vector<std::uint64_t> packed(protozero::data_view bytes) {
  std::vector<std::uint64_t> values;
  const char* at = bytes.data();
  while (at != bytes.data() + bytes.size()) {
    values.push_back(protozero::decode_varint(&at, bytes.data() + bytes.size()));
  }
  return values;
}

class Printer {
 public:
  explicit Printer(std::string_view profile) : profile_({profile.data(), profile.size()}) {}

  std::string print() {
    each(1, "sample_type", [this](const Fields& type) {
      return fmt::format("{}/{}", string(type.number(1)), string(type.number(2)));
    });
    each(2, "sample", [this](const Fields& sample) { return print_sample(sample); });
    each(3, "mapping", [this](const Fields& mapping) { return print_mapping(mapping); });
    each(4, "location", [this](const Fields& location) { return print_location(location); });
    each(5, "function", [this](const Fields& function) {
      return fmt::format("{}: '{}' system_name='{}' file='{}' start_line={}", function.number(1),
                         string(function.number(2)), string(function.number(3)),
                         string(function.number(4)), function.number(5));
    });
    each(11, "period_type", [this](const Fields& type) {
      return fmt::format("{}/{}", string(type.number(1)), string(type.number(2)));
    });
    text_ += fmt::format("time_nanos {}\nduration_nanos {}\nperiod {}\ndefault_sample_type {}\n",
                         profile_.number(9), profile_.number(10), profile_.number(12),
                         string(profile_.number(14)));
    for (std::uint64_t comment : profile_.numbers[13]) {
      text_ += fmt::format("comment {}\n", string(comment));
    }
    return text_;
  }

 private:
  std::string string(std::uint64_t index) {
    const protozero::data_view view = profile_.views[6].at(index);
    return {view.data(), view.size()};
  }

  static std::vector<protozero::data_view> of(const Fields& message, std::uint32_t tag) {
    const auto place = message.views.find(tag);
    return place == message.views.end() ? std::vector<protozero::data_view>() : place->second;
  }

  template <typename Print>
  void each(std::uint32_t tag, std::string_view name, Print print) {
    for (protozero::data_view bytes : profile_.views[tag]) {
      text_ += fmt::format("{} {}\n", name, print(Fields(bytes)));
    }
  }

  std::string print_sample(const Fields& sample) {
    std::string line = "locations";
    for (std::uint64_t id : packed(sample.views.at(1).at(0))) line += fmt::format(" {}", id);
    line += " values";
    for (std::uint64_t value : packed(sample.views.at(2).at(0))) {
      line += fmt::format(" {}", static_cast<std::int64_t>(value));
    }
    line += " labels";
    for (protozero::data_view bytes : of(sample, 3)) {
      const Fields label(bytes);
      const std::string value = label.number(2) != 0 ? "'" + string(label.number(2)) + "'"
                                                     : fmt::format("{}", label.number(3));
      line += fmt::format(" {}={}", string(label.number(1)), value);
    }
    return line;
  }

  std::string print_mapping(const Fields& mapping) {
    return fmt::format(
        "{}: {:x}-{:x} offset={:x} '{}' build_id={} functions={} files={} lines={} "
        "inlines={}",
        mapping.number(1), mapping.number(2), mapping.number(3), mapping.number(4),
        string(mapping.number(5)), string(mapping.number(6)), mapping.number(7), mapping.number(8),
        mapping.number(9), mapping.number(10));
  }

  std::string print_location(const Fields& location) {
    std::string line = fmt::format("{}: mapping={} address={:x}", location.number(1),
                                   location.number(2), location.number(3));
    for (protozero::data_view bytes : of(location, 4)) {
      const Fields entry(bytes);
      line += fmt::format(" function={}:{}", entry.number(1), entry.number(2));
    }
    return line;
  }

  Fields profile_;
  std::string text_;
};
}  // namespace

std::string gunzip(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::runtime_error("inflateInit2 failed");
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::array<char, 65536> part;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.avail_in != 0) throw std::runtime_error("not a gzip file");
  return out;
}

std::string pprof_text(std::string_view profile) { return Printer(profile).print(); }

}  // namespace swipr::golden
