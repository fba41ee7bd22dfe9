// Stubs of the procedure linkage table by address: "memcpy@plt". x86-64 and aarch64.
#pragma once

#include <libelf.h>

#include <optional>
#include <string>
#include <vector>

#include "symbolize/elf/address_map.h"

namespace swipr::symbolize {

struct PltEntry {
  ImageAddr begin;
  std::string symbol;  // of the function that it jumps to
};

class PltEntries {
 public:
  // Reads .plt, .plt.sec and .plt.got: each stub jumps through a GOT slot, and the slot's
  // relocation names the symbol. No order is assumed between stubs and relocations.
  static PltEntries read(Elf* elf);

  std::optional<PltEntry> find(ImageAddr address) const;

 private:
  std::vector<PltEntry> entries_;
  AddressMap map_;
};

}  // namespace swipr::symbolize
