#include "cli/export/formats/pprof_tables.h"

#include "cli/export/text/text.h"

namespace swipr::exporters {

PprofTables::PprofTables(const profile::Recording& recording, const profile::Names& names)
    : recording_(recording), names_(names), ids_of_frames_(recording.frames.size(), 0) {
  string("");  // required by the format as the first string
}

std::int64_t PprofTables::string(std::string_view text) {
  const auto [place, is_new] =
      string_indexes_.try_emplace(clean_text(text), static_cast<std::int64_t>(strings_.size()));
  if (is_new) strings_.push_back(&place->first);
  return place->second;
}

std::uint64_t PprofTables::location(std::uint32_t frame) {
  std::uint64_t& id = ids_of_frames_[frame];
  if (id == 0) {
    locations_.push_back({frame, {}});
    id = locations_.size();
  }
  return id;
}

std::uint64_t PprofTables::location(std::string_view function) {
  const auto [place, is_new] = pseudo_.try_emplace(std::string(function), locations_.size() + 1);
  if (is_new) locations_.push_back({profile::kNone, std::string(function)});
  return place->second;
}

// pprof assumes that the first mapping is the program. Of the others only those of used frames are
// written.
void PprofTables::number_mappings() {
  ids_of_modules_.assign(recording_.modules.size(), 0);
  const auto add = [this](std::uint32_t module) {
    if (ids_of_modules_[module] != 0) return;
    mappings_.push_back(module);
    ids_of_modules_[module] = mappings_.size();
  };
  for (std::uint32_t index = 0; index < recording_.modules.size(); ++index) {
    const profile::Module& module = recording_.modules[index];
    if (module.path == recording_.processes[module.process].executable) add(index);
  }
  for (const Location& location : locations_) {
    if (location.frame == profile::kNone) continue;
    const std::uint32_t module = recording_.frames[location.frame].module;
    if (module != profile::kNone) add(module);
  }
}

std::vector<PprofTables::Known> PprofTables::what_is_known() const {
  std::vector<Known> known(recording_.modules.size());
  for (std::size_t frame = 0; frame < recording_.frames.size(); ++frame) {
    if (recording_.frames[frame].module == profile::kNone) continue;
    Known& module = known[recording_.frames[frame].module];
    for (const profile::NamedFrame& named : names_.frames[frame]) {
      module.functions |= !named.system_name.empty();
      module.files |= !named.file.empty();
      module.lines |= named.line != 0;
    }
  }
  return known;
}

void PprofTables::write(PprofBuilder<ProfileTag>& out) {
  number_mappings();
  const std::vector<Known> known = what_is_known();
  for (const std::uint32_t module : mappings_) write_mapping(out, module, known[module]);
  for (std::size_t index = 0; index < locations_.size(); ++index) {
    if (locations_[index].frame != profile::kNone) {
      write_frame(out, index + 1, locations_[index].frame);
      continue;
    }
    profile::NamedFrame pseudo;
    pseudo.function = locations_[index].function;
    write_location(out, index + 1, 0, 0, {pseudo});
  }
}

void PprofTables::write_strings(PprofBuilder<ProfileTag>& out) const {
  for (const std::string* text : strings_) out.add_string(ProfileTag::kStringTable, *text);
}

void PprofTables::write_mapping(PprofBuilder<ProfileTag>& out, std::uint32_t index,
                                const Known& known) {
  const profile::Module& module = recording_.modules[index];
  const std::int64_t path = string(module.path);
  const std::int64_t build_id = string(module.build_id);
  PprofBuilder<MappingTag> mapping(out, ProfileTag::kMapping);
  mapping.add_uint64(MappingTag::kId, ids_of_modules_[index]);
  mapping.add_uint64(MappingTag::kMemoryStart, module.start.value);
  mapping.add_uint64(MappingTag::kMemoryLimit, module.start.value + module.size_bytes);
  mapping.add_uint64(MappingTag::kFileOffset, module.file_offset.value);
  mapping.add_int64(MappingTag::kFilename, path);
  mapping.add_int64(MappingTag::kBuildId, build_id);
  // Without names, pprof may search for the file and its symbols.
  mapping.add_bool(MappingTag::kHasFunctions, known.functions);
  mapping.add_bool(MappingTag::kHasFilenames, known.files);
  mapping.add_bool(MappingTag::kHasLineNumbers, known.lines);
  mapping.add_bool(MappingTag::kHasInlineFrames, known.functions);
}

void PprofTables::write_frame(PprofBuilder<ProfileTag>& out, std::uint64_t id,
                              std::uint32_t index) {
  const profile::Frame& frame = recording_.frames[index];
  // As other producers of pprof files do: the byte before a return address, so that a
  // reader that symbolizes finds the call and not the next instruction.
  const bool has_address = !is_runtime_frame(frame.pc.value);
  write_location(out, id, frame.module == profile::kNone ? 0 : ids_of_modules_[frame.module],
                 has_address ? lookup_address(frame.pc.value, frame.kind) : 0,
                 names_.frames[index]);
}

void PprofTables::write_location(PprofBuilder<ProfileTag>& out, std::uint64_t id,
                                 std::uint64_t mapping, std::uint64_t address,
                                 const profile::FrameNames& names) {
  std::vector<std::uint64_t> functions;
  for (const profile::NamedFrame& named : names) functions.push_back(function(out, named));
  PprofBuilder<LocationTag> location(out, ProfileTag::kLocation);
  location.add_uint64(LocationTag::kId, id);
  if (mapping != 0) location.add_uint64(LocationTag::kMappingId, mapping);
  location.add_uint64(LocationTag::kAddress, address);
  for (std::size_t index = 0; index < names.size(); ++index) {
    PprofBuilder<LineTag> line(location, LocationTag::kLine);
    line.add_uint64(LineTag::kFunctionId, functions[index]);
    if (names[index].line != 0) line.add_int64(LineTag::kLine, names[index].line);
  }
}

// Writes the function on first use.
std::uint64_t PprofTables::function(PprofBuilder<ProfileTag>& out,
                                    const profile::NamedFrame& named) {
  // The file of a runtime's function has a field of its own.
  const bool is_plain = profile::is_native(named) || named.system_name.empty();
  const std::int64_t name = string(is_plain ? named.function : named.system_name);
  const std::int64_t system_name = named.system_name.empty() ? name : string(named.system_name);
  const std::int64_t file = string(named.file);
  const auto [place, is_new] =
      functions_.try_emplace({name, system_name, file, named.start_line}, functions_.size() + 1);
  if (is_new) {
    PprofBuilder<FunctionTag> function(out, ProfileTag::kFunction);
    function.add_uint64(FunctionTag::kId, place->second);
    function.add_int64(FunctionTag::kName, name);
    function.add_int64(FunctionTag::kSystemName, system_name);
    function.add_int64(FunctionTag::kFilename, file);
    if (named.start_line != 0) function.add_int64(FunctionTag::kStartLine, named.start_line);
  }
  return place->second;
}

}  // namespace swipr::exporters
