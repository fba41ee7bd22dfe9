#include "symbolize/module.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "symbolize/elf/mini_debug_info.h"
#include "symbolize/signatures/signature_reader.h"
#include "symbolize/text/demangle.h"

namespace swipr::symbolize {
namespace {

// What compilers append to a name that is not the only one: "f.lto_priv.0", "f.llvm.123". Other
// suffixes are those of copies with other parameters, or of parts of the function.
bool is_renamed_only(std::string_view suffixes) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"lto_priv", "llvm", "localalias", "__uniq"});
  while (!suffixes.empty()) {
    suffixes.remove_prefix(1);
    const std::string_view word = suffixes.substr(0, suffixes.find('.'));
    const bool is_number = word.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number && std::ranges::find(kWords, word) == kWords.end()) return false;
    suffixes.remove_prefix(word.size());
  }
  return true;
}

bool has_other_parameters(std::string_view name) {
  const std::size_t suffixes = name.find('.', 1);
  return suffixes != std::string_view::npos && !is_renamed_only(name.substr(suffixes));
}

// Parts and copies of a function are named as the function is, as DWARF does it: of what GCC and
// clang append, "f.constprop.0.cold" is f. The symbol itself stays in the linkage name.
std::string_view without_clone_suffix(std::string_view name) {
  constexpr auto kSuffixes = std::to_array<std::string_view>(
      {".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm."});
  std::size_t end = name.size();
  for (const std::string_view suffix : kSuffixes) end = std::min(end, name.find(suffix, 1));
  return name.substr(0, end);
}

}  // namespace

Module::Module(ModuleFiles files, const Options& options, TextPool& texts)
    : options_(&options),
      texts_(&texts),
      path_(std::move(files.path)),
      note_(std::move(files.note)),
      image_(std::move(files.image)) {
  if (image_) build_id_ = image_->build_id();
}

void Module::load() {
  if (loaded_ || !image_) return;
  loaded_ = true;
  load_dwarf();
  image_->load_symbols();
  static_symbols_ = SymbolTable::read(image_->elf(), SymbolTable::Kind::kStatic);
  if (static_symbols_.empty() && debug_file_) {
    debug_file_->load_symbols();
    static_symbols_ = SymbolTable::read(debug_file_->elf(), SymbolTable::Kind::kStatic);
  }
  if (static_symbols_.empty() && (mini_ || (mini_ = find_mini_debug_info(*image_)))) {
    static_symbols_ = SymbolTable::read(mini_->elf(), SymbolTable::Kind::kStatic);
  }
  // .symtab has all of .dynsym; what is packed in .gnu_debugdata has not.
  if (static_symbols_.empty() || mini_) {
    dynamic_symbols_ = SymbolTable::read(image_->elf(), SymbolTable::Kind::kDynamic);
  }
  plt_ = PltEntries::read(image_->elf());
  go_ = GoFunctions::read(*image_);
}

std::vector<FunctionSymbol> Module::list_functions() {
  if (!image_) return {};
  image_->load_symbols();
  auto functions = symbolize::list_functions(image_->elf(), SHT_DYNSYM);
  auto more = symbolize::list_functions(image_->elf(), SHT_SYMTAB);
  if (more.empty()) {
    find_debug_file_once();
    if (debug_file_) {
      debug_file_->load_symbols();
      more = symbolize::list_functions(debug_file_->elf(), SHT_SYMTAB);
    }
  }
  if (more.empty() && (mini_ || (mini_ = find_mini_debug_info(*image_)))) {
    more = symbolize::list_functions(mini_->elf(), SHT_SYMTAB);
  }
  functions.insert(functions.end(), more.begin(), more.end());
  // The file is copied to another place when its debug information is read.
  for (FunctionSymbol& function : functions) function.name = texts_->intern(function.name);
  return functions;
}

void Module::load_variables() {
  variables_.emplace();
  if (!image_) return;
  image_->load_symbols();
  variables_.emplace(image_->elf(), SymbolTable::Kind::kStatic);
  if (!variables_->empty()) return;
  find_debug_file_once();
  if (debug_file_) {
    debug_file_->load_symbols();
    variables_.emplace(debug_file_->elf(), SymbolTable::Kind::kStatic);
  }
  if (variables_->empty()) variables_.emplace(image_->elf(), SymbolTable::Kind::kDynamic);
}

std::string Module::find_variable(ImageAddr address) {
  if (!variables_) load_variables();
  const auto symbol = variables_->find(address);
  if (!symbol) return {};
  std::string name(readable(without_clone_suffix(symbol->name)));
  const std::uint64_t offset = address.value - symbol->begin.value;
  if (offset != 0) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), offset, 16).ptr;
    name.append("+0x").append(digits.begin(), end);
  }
  return name;
}

std::optional<Signature> Module::find_signature(ImageAddr begin) {
  GElf_Ehdr header;
  // Registers of parameters are those of x86-64's ABI.
  if (dwarf_ == nullptr || gelf_getehdr(image_->elf(), &header) == nullptr ||
      header.e_machine != EM_X86_64) {
    return std::nullopt;
  }
  const auto symbol = static_symbols_.find(begin);
  if (symbol && has_other_parameters(symbol->name)) return std::nullopt;
  const auto function = dwarf_->find_entry(begin);
  if (!function) return std::nullopt;
  return read_signature(*function->strings, *function->limit, function->die, begin);
}

void Module::find_debug_file_once() {
  if (!looked_for_debug_file_) debug_file_ = find_debug_file(*image_, path_, *options_);
  looked_for_debug_file_ = true;
}

void Module::load_dwarf() {
  if (load_dwarf_of(*image_)) return;
  find_debug_file_once();
  if (debug_file_) load_dwarf_of(*debug_file_);
}

std::string Module::signature() {
  if (build_id_.empty()) return {};
  const bool own = image_->has_debug_info();
  if (!own) find_debug_file_once();
  if (!own && !(debug_file_ && debug_file_->has_debug_info())) return {};
  const ElfFile& file = own ? *image_ : *debug_file_;
  return file.origin() + " " + file.identity() + (options_->demangle ? " demangled" : "") +
         (options_->inlines ? " inlines" : "");
}

Symbolizer::Sources Module::sources() {
  if (!image_) return {};
  load();
  return {.file = image_->origin().empty() ? path_ : image_->origin(),
          .debug_file = debug_file_ ? debug_file_->origin() : std::string(),
          .dwarf = dwarf_ != nullptr,
          .symbol_table = !static_symbols_.empty(),
          .dynamic_table = !dynamic_symbols_.empty(),
          .go_table = !go_.empty()};
}

bool Module::load_dwarf_of(ElfFile& file) {
  auto index = DwarfIndex::load(file, *image_, *options_, *texts_);
  if (!index) {
    note_ = path_ + ": debug information not used: " + index.error().message();
    return false;
  }
  dwarf_ = std::move(*index);
  return dwarf_ != nullptr;
}

ImageAddr Module::image_address(FileOffset offset) const {
  const auto address = image_ ? image_->image_address(offset) : std::nullopt;
  return address.value_or(ImageAddr{offset.value});
}

FileOffset Module::file_offset(ImageAddr address) const {
  const auto offset = image_ ? image_->file_offset(address) : std::nullopt;
  return offset.value_or(FileOffset{address.value});
}

std::optional<ImageAddr> Module::code_address(FileOffset offset) const {
  const auto address = image_ ? image_->image_address(offset) : std::nullopt;
  return address && image_->is_code(*address) ? address : std::nullopt;
}

std::optional<ImageAddr> Module::function_start(FileOffset offset) {
  const auto address = code_address(offset);
  if (!address) return std::nullopt;
  if (!starts_) starts_ = FunctionStarts::read(*image_);
  return starts_->find(*address);
}

void Module::note_damage(const DwarfIndex& dwarf) {
  if (dwarf.too_slow()) gave_up_ = true;
  if (!note_.empty()) return;
  if (dwarf.too_slow()) {
    note_ = path_ + ": debug information not used: reading it takes too long";
    return;
  }
  if (dwarf.damaged()) note_ = path_ + ": damaged debug information";
  if (!dwarf.missing_split_file().empty()) {
    note_ = path_ + ": split debug information is missing: " + dwarf.missing_split_file();
  }
}

std::vector<SourceFunction> Module::find_functions(ImageAddr address, DwarfIndex* dwarf) const {
  SourceLine line;
  std::vector<SourceFunction> functions;
  if (dwarf != nullptr) functions = dwarf->find(address, &line);
  if (functions.empty()) functions = find_go(address);
  if (functions.empty()) return find_symbol(address, line);
  if (!options_->inlines) functions.erase(functions.begin(), functions.end() - 1);
  complete_linkage_name(&functions.back(), address);
  return functions;
}

std::vector<SourceFunction> Module::find_go(ImageAddr address) const {
  std::vector<SourceFunction> functions;
  ImageAddr begin;
  for (const GoFunctions::Function& found : go_.find(address)) {
    begin = found.begin;
    SourceFunction& function = functions.emplace_back();
    function.name = function.linkage_name = texts_->intern(found.name);
    function.file = texts_->intern(found.file);
    function.line = found.line;
    function.start_line = found.start_line;
    function.inlined = true;
  }
  if (functions.empty()) return {};
  functions.back().inlined = false;
  functions.back().offset = address.value - begin.value;
  return functions;
}

std::string_view Module::readable(std::string_view name) const {
  return texts_->intern(options_->demangle ? demangle(std::string(name)) : name);
}

std::vector<SourceFunction> Module::find_symbol(ImageAddr address, const SourceLine& line) const {
  SourceFunction function;
  function.file = line.file;
  function.line = line.line;
  auto symbol = static_symbols_.find(address);
  if (!symbol) symbol = dynamic_symbols_.find(address);
  if (symbol) {
    function.linkage_name = texts_->intern(symbol->name);
    function.name =
        options_->demangle ? readable(without_clone_suffix(symbol->name)) : function.linkage_name;
    function.offset = address.value - symbol->begin.value;
    return {function};
  }
  const auto stub = plt_.find(address);
  if (!stub) return {};
  function.linkage_name = texts_->intern(stub->symbol + "@plt");
  function.name = texts_->intern(std::string(readable(stub->symbol)) + "@plt");
  function.offset = address.value - stub->begin.value;
  return {function};
}

// Functions without a linkage name in DWARF (local to their unit, extern "C", constructors, clang's
// -gline-tables-only) have it in the symbol table: the symbol that starts where they do, without
// what the compiler appended to a copy or part (".constprop.0", ".cold"). A C function that is
// written with underscores or as an implementation ("___pthread_cond_wait", "__GI___poll",
// "__libc_start_main_impl") is called as everybody calls it, by the best of its symbols.
void Module::complete_linkage_name(SourceFunction* function, ImageAddr address) const {
  const std::string_view linkage_name = function->linkage_name;
  const bool is_mangled = linkage_name.starts_with("_Z") || linkage_name.starts_with("_R") ||
                          linkage_name.starts_with("_D");
  if (function->inlined || is_mangled) return;
  auto symbol = static_symbols_.find(address);
  if (!symbol) symbol = dynamic_symbols_.find(address);
  if (!symbol || address.value - symbol->begin.value != function->offset) return;
  const std::string_view stem = without_clone_suffix(symbol->name);
  if (stem.starts_with("_Z")) {
    if (!linkage_name.empty()) return;
    function->linkage_name = texts_->intern(stem);
    function->name = readable(stem);
  } else if (stem == function->name || function->name.starts_with('_')) {
    function->linkage_name = texts_->intern(stem);
    function->name = function->linkage_name;
  }
}

}  // namespace swipr::symbolize
