#include "preload/agent/libunwind/walker.h"

#include <algorithm>

#include "preload/agent/base/own_image.h"

namespace swipr::agent::libunwind {

using unwind::WalkEnd;

namespace {

Accessors accessors_of_walker(decltype(Accessors::find_proc_info) find_proc_info,
                              decltype(Accessors::access_mem) access_memory,
                              decltype(Accessors::access_reg) access_register) noexcept {
  Accessors accessors{};
  accessors.find_proc_info = find_proc_info;
  accessors.put_unwind_info = [](AddressSpace*, ProcedureInfo*, void*) {};
  accessors.get_dyn_info_list_addr = [](AddressSpace*, Word*, void*) { return kNoInfo; };
  accessors.access_mem = access_memory;
  accessors.access_reg = access_register;
  accessors.access_fpreg = [](AddressSpace*, int, void*, int, void*) { return kBadRegister; };
  accessors.resume = [](AddressSpace*, Cursor*, void*) { return kInvalid; };
  accessors.get_proc_name = [](AddressSpace*, Word, char*, std::size_t, Word*, void*) {
    return kNoInfo;
  };
  return accessors;
}

std::uint8_t kind(wire::FrameSource source, bool exact) noexcept {
  const unsigned bits = static_cast<unsigned>(source) | (exact ? unwind::kExactFrame : 0u);
  return static_cast<std::uint8_t>(bits);
}

}  // namespace

bool Walker::open(ProcMemory& memory, TextWriter& why) noexcept {
  why.clear();
  if (AtWork::was_interrupted_by_fork()) {
    why.append("the parent was using it at the time of the fork");
    return false;
  }
  if (is_open()) return true;
  if (!keeps_mask()) {
    why.append("it would unblock signals, because another library overrides swipr's sigprocmask");
    return false;
  }
  if (!load_library(library_, why)) return false;
  const AtWork at_work;
  Accessors accessors = accessors_of_walker(find_proc_info, access_memory, access_register);
  space_ = library_.create_addr_space(&accessors, 0);
  if (space_ == nullptr) {
    why.append("unw_create_addr_space fails");
    return false;
  }
  library_.set_caching_policy(space_, kCacheGlobal);
  if (finds_itself(memory)) return true;
  space_ = nullptr;
  why.append("its structures are not those of a supported version");
  return false;
}

// The layouts of abi.h are right if libunwind returns a known result with them.
bool Walker::finds_itself(ProcMemory& memory) noexcept {
  SearchTable own;
  if (!find_search_table(reinterpret_cast<std::uint64_t>(&__ehdr_start), memory.image_reader(),
                         own)) {
    return false;
  }
  own_image_ = own.image;
  StackPieces pieces(memory);
  keep(own);
  stack_ = pieces.reader();
  images_ = &pieces;
  modules_ = nullptr;
  memory_ = &memory;
  // Any function in the table: not all of swipr's functions have CFI.
  std::int32_t offset = 0;
  const std::uint64_t entry = own.entries + own.entry_count / 2 * kSearchEntryBytes;
  if (!memory.image_reader().read_value(entry, offset)) return false;
  const std::uint64_t start = own.header + static_cast<std::uint64_t>(std::int64_t{offset});
  ProcedureInfo info{};
  const int status = find_proc_info(space_, start, &info, 1, this);
  forget_tables();
  return status >= 0 && info.start_ip == start && start < info.end_ip &&
         info.end_ip <= own.image.end;
}

WalkEnd Walker::walk(const unwind::Registers& registers, unwind::StackReader stack,
                     const ModuleMap& modules, ProcMemory& memory,
                     unwind::FrameBuffer& frames) noexcept {
  const AtWork at_work;
  if (change_count_ != modules.change_count()) {
    change_count_ = modules.change_count();
    forget_tables();
    library_.flush_cache(space_, 0, 0);
  }
  StackPieces pieces(memory);
  registers_ = &registers;
  stack_ = stack;
  images_ = &pieces;
  modules_ = &modules;
  memory_ = &memory;
  frames.frame_count = frames.omitted_at = frames.claim_count = 0;
  frames.flags = 0;
  if (library_.init_remote(&cursor_, space_, this) < 0) {
    frames.flags = wire::kStackBroken;
    return WalkEnd::kUnknownRegister;
  }
  return step_through(frames);
}

WalkEnd Walker::step_through(unwind::FrameBuffer& frames) noexcept {
  using wire::FrameSource;
  FrameSource source = FrameSource::kContext;
  bool exact = true;
  met_swipr_ = false;
  for (;;) {
    Word pc = 0;
    if (library_.get_reg(&cursor_, kInstructionPointer, &pc) < 0 || pc == 0) break;
    if (frames.frame_count == wire::kMaxFrames) {
      frames.flags = wire::kStackCut;
      frames.omitted_at = frames.frame_count;
      return WalkEnd::kCut;
    }
    // The kernel made the call of a handler: neither address is one that a call returns to.
    const bool in_trampoline = library_.is_signal_frame(&cursor_) > 0;
    Word stack = 0;
    if (library_.get_reg(&cursor_, kStackPointer, &stack) < 0) stack = 0;
    frames.pcs[frames.frame_count] = pc;
    frames.stacks[frames.frame_count] = stack;
    frames.kinds[frames.frame_count++] = kind(source, exact || in_trampoline);
    has_no_cfi_ = false;
    const int status = library_.step(&cursor_);
    if (has_no_cfi_ && own_image_.contains(pc)) met_swipr_ = true;
    if (status == 0 && !has_no_cfi_) {
      frames.flags = wire::kStackRootReached;
      return WalkEnd::kRoot;
    }
    if (status <= 0) break;
    source = has_no_cfi_ ? FrameSource::kFramePointer : FrameSource::kCfi;
    exact = in_trampoline;
  }
  frames.flags = wire::kStackBroken;
  return WalkEnd::kNoRule;
}

const SearchTable* Walker::find_kept(std::uint64_t address) const noexcept {
  const auto* const end = tables_.data() + std::min(table_count_, kMaxTables);
  const auto* const found = std::find_if(tables_.data(), end, [address](const SearchTable& table) {
    return table.image.contains(address);
  });
  return found == end ? nullptr : found;
}

const SearchTable* Walker::keep(const SearchTable& table) noexcept {
  SearchTable& place = tables_[table_count_++ % kMaxTables];
  place = table;
  return &place;
}

void Walker::forget_tables() noexcept { table_count_ = 0; }

const SearchTable* Walker::table_of(std::uint64_t ip) noexcept {
  if (const SearchTable* const kept = find_kept(ip)) return kept;
  if (modules_ == nullptr) return nullptr;
  for (const Module& module : modules_->modules()) {
    if (module.id == 0 || module.gone || ip < module.start || ip >= module.end) continue;
    const Image* const image = modules_->image_of(module);
    SearchTable table;
    if (image == nullptr || !find_search_table(image->header, memory_->image_reader(), table)) {
      return nullptr;
    }
    return table.image.contains(ip) ? keep(table) : nullptr;
  }
  return nullptr;
}

int Walker::find_proc_info(AddressSpace* space, Word ip, ProcedureInfo* info, int need,
                           void* argument) noexcept {
  Walker& self = of(argument);
  int status = kNoInfo;
  if (const SearchTable* const table = self.table_of(ip)) {
    TableInfo request{};
    request.start_ip = table->image.begin;
    request.end_ip = table->image.end;
    request.format = kRemoteTable;
    request.segment_base = table->header;
    request.table = table->entries;
    request.table_words = table->entry_count;  // of 8 bytes each
    status = self.library_.search_table(space, ip, &request, info, need, argument);
  }
  if (status < 0) self.has_no_cfi_ = true;
  return status;
}

int Walker::access_memory(AddressSpace*, Word address, Word* value, int write,
                          void* argument) noexcept {
  const Walker& self = of(argument);
  if (write != 0) return kInvalid;
  if (self.stack_.read_word(self.stack_.state, address, *value)) return 0;
  const bool known = self.find_kept(address) != nullptr;
  return known && self.images_->read_word(address, *value) ? 0 : kUnspecified;
}

int Walker::access_register(AddressSpace*, int number, Word* value, int write,
                            void* argument) noexcept {
  const unwind::Registers& registers = *of(argument).registers_;
  const auto index = static_cast<unsigned>(number);
  if (write != 0 || index >= unwind::Registers::kCount ||
      !registers.knows(static_cast<unsigned>(index))) {
    return kBadRegister;
  }
  *value = registers.values[index];
  return 0;
}

}  // namespace swipr::agent::libunwind
