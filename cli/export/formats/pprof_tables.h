// The tables of a pprof file: strings, functions, mappings, locations. An entry is made on its
// first use, and ids are 1, 2, 3 … in the order of the file: Parca refuses any others.
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cli/export/formats/pprof_tags.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::exporters {

template <typename Tag>
using PprofBuilder = protozero::pbf_builder<Tag>;

class PprofTables {
 public:
  // Lifetime: of the arguments.
  PprofTables(const profile::Recording& recording, const profile::Names& names);

  std::int64_t string(std::string_view text);
  std::uint64_t location(std::uint32_t frame);
  // A location without address: "[no stack]", "[poll]".
  std::uint64_t location(std::string_view function);

  // Writes all entries. The strings follow with write_strings(), after their last use.
  void write(PprofBuilder<ProfileTag>& out);
  void write_strings(PprofBuilder<ProfileTag>& out) const;

 private:
  using Function = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint32_t>;
  // Which kinds of names the frames of a module have.
  struct Known {
    bool functions = false;
    bool files = false;
    bool lines = false;
  };

  std::vector<Known> what_is_known() const;
  void number_mappings();
  void write_mapping(PprofBuilder<ProfileTag>& out, std::uint32_t module, const Known& known);
  void write_frame(PprofBuilder<ProfileTag>& out, std::uint64_t id, std::uint32_t frame);
  void write_location(PprofBuilder<ProfileTag>& out, std::uint64_t id, std::uint64_t mapping,
                      std::uint64_t address, const profile::FrameNames& names);
  std::uint64_t function(PprofBuilder<ProfileTag>& out, const profile::NamedFrame& named);

  const profile::Recording& recording_;
  const profile::Names& names_;
  std::unordered_map<std::string, std::int64_t> string_indexes_;
  std::vector<const std::string*> strings_;  // by index; keys of the map do not move
  struct Location {
    std::uint32_t frame = profile::kNone;  // kNone: `function` is its name
    std::string function;
  };
  std::vector<Location> locations_;              // by id − 1
  std::vector<std::uint64_t> ids_of_frames_;     // 0: not used
  std::map<std::string, std::uint64_t> pseudo_;  // locations without address
  std::vector<std::uint32_t> mappings_;          // modules by id − 1
  std::vector<std::uint64_t> ids_of_modules_;    // 0: not used
  std::map<Function, std::uint64_t> functions_;
};

}  // namespace swipr::exporters
