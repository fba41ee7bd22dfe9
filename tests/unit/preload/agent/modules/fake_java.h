// An image in memory that exports what HotSpot is recognised by: its description of itself, which
// is set later and lacks nearly everything.
#pragma once

#include <array>
#include <cstdint>

#include "tests/unit/preload/agent/modules/fake_image.h"

namespace swipr::agent {

class FakeJava : public FakeImage {
 public:
  FakeJava() {
    add_symbol("gHotSpotVMStructs", &fields_);
    add_symbol("gHotSpotVMStructEntryArrayStride", &stride_);
    add_symbol("gHotSpotVMStructEntryTypeNameOffset", &offsets_[0]);
    add_symbol("gHotSpotVMStructEntryFieldNameOffset", &offsets_[1]);
    add_symbol("gHotSpotVMStructEntryIsStaticOffset", &offsets_[2]);
    add_symbol("gHotSpotVMStructEntryOffsetOffset", &offsets_[3]);
    add_symbol("gHotSpotVMStructEntryAddressOffset", &offsets_[4]);
    add_symbol("gHotSpotVMTypes", &types_);
    add_symbol("gHotSpotVMTypeEntryArrayStride", &stride_);
    add_symbol("gHotSpotVMTypeEntryTypeNameOffset", &offsets_[0]);
    add_symbol("gHotSpotVMTypeEntrySizeOffset", &offsets_[3]);
    finish();
  }
  // As its constructors do. The machine describes no field.
  void describe() { fields_ = types_ = address_of(end_.data()); }

 private:
  std::uint64_t fields_ = 0;
  std::uint64_t types_ = 0;
  std::uint64_t stride_ = 40;
  std::array<std::uint64_t, 5> offsets_ = {0, 8, 16, 24, 32};
  std::array<std::uint64_t, 8> end_{};  // an entry without a name
};

}  // namespace swipr::agent
