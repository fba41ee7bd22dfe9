// The names by which HotSpot describes what JavaLayout and JavaStatics hold. Source:
// src/hotspot/share/runtime/vmStructs.cpp, 8 to 28.
// Pure.
#pragma once

#include <array>
#include <cstdint>

#include "preload/runtimes/java/java_layout.h"

namespace swipr::runtimes {

enum class Need : bool { kOptional, kRequired };

// Several names of one field: those of other versions. The first is the one reported.
struct DescribedOffset {
  const char* name;  // TYPE.FIELD
  std::uint32_t JavaLayout::*offset;
  Need need = Need::kRequired;
};
struct DescribedStatic {
  const char* name;
  std::uint64_t JavaStatics::*address;
  Need need = Need::kRequired;
};
struct DescribedType {
  const char* name;
  std::uint32_t JavaLayout::*bytes;
};

inline constexpr std::array kOffsets = {
    DescribedOffset{"GrowableArrayBase._len", &JavaLayout::array_length},
    DescribedOffset{"GenericGrowableArray._len", &JavaLayout::array_length},
    DescribedOffset{"GrowableArray<int>._data", &JavaLayout::array_data},
    DescribedOffset{"StubQueue._stub_buffer", &JavaLayout::queue_buffer},
    DescribedOffset{"StubQueue._buffer_limit", &JavaLayout::queue_limit},
    DescribedOffset{"CodeHeap._memory", &JavaLayout::heap_memory},
    DescribedOffset{"CodeHeap._segmap", &JavaLayout::heap_segment_map},
    DescribedOffset{"CodeHeap._log2_segment_size", &JavaLayout::heap_segment_shift},
    DescribedOffset{"VirtualSpace._low", &JavaLayout::space_low},
    DescribedOffset{"VirtualSpace._high", &JavaLayout::space_high},
    DescribedOffset{"VirtualSpace._high_boundary", &JavaLayout::space_end, Need::kOptional},
    DescribedOffset{"HeapBlock::Header._used", &JavaLayout::block_is_used},
    DescribedOffset{"CodeBlob._name", &JavaLayout::blob_name},
    DescribedOffset{"CodeBlob._frame_size", &JavaLayout::blob_frame_words},
    DescribedOffset{"CodeBlob._frame_complete_offset", &JavaLayout::blob_frame_complete},
    DescribedOffset{"CodeBlob._code_begin", &JavaLayout::blob_code_begin, Need::kOptional},
    DescribedOffset{"CodeBlob._code_offset", &JavaLayout::blob_code_offset, Need::kOptional},
    DescribedOffset{"CodeBlob._data_offset", &JavaLayout::blob_data_offset, Need::kOptional},
    DescribedOffset{"CodeBlob._mutable_data", &JavaLayout::blob_mutable_data, Need::kOptional},
    DescribedOffset{"CodeBlob._relocation_size", &JavaLayout::blob_relocation_bytes,
                    Need::kOptional},
    DescribedOffset{"nmethod._method", &JavaLayout::nmethod_method},
    DescribedOffset{"CompiledMethod._method", &JavaLayout::nmethod_method},
    DescribedOffset{"nmethod._compile_id", &JavaLayout::nmethod_compile_id},
    DescribedOffset{"nmethod._stub_offset", &JavaLayout::nmethod_stub},
    DescribedOffset{"nmethod._orig_pc_offset", &JavaLayout::nmethod_original_pc},
    DescribedOffset{"nmethod._scopes_pcs_offset", &JavaLayout::nmethod_scopes_pcs},
    DescribedOffset{"CompiledMethod._scopes_data_begin", &JavaLayout::nmethod_scopes_begin,
                    Need::kOptional},
    DescribedOffset{"nmethod._scopes_data_begin", &JavaLayout::nmethod_scopes_begin,
                    Need::kOptional},
    DescribedOffset{"nmethod._scopes_data_offset", &JavaLayout::nmethod_scopes_offset,
                    Need::kOptional},
    DescribedOffset{"nmethod._metadata_offset", &JavaLayout::nmethod_metadata, Need::kOptional},
    DescribedOffset{"nmethod._immutable_data", &JavaLayout::nmethod_immutable_data,
                    Need::kOptional},
    DescribedOffset{"Method._constMethod", &JavaLayout::method_const},
    DescribedOffset{"ConstMethod._constants", &JavaLayout::const_pool},
    DescribedOffset{"ConstMethod._flags", &JavaLayout::const_flags},
    DescribedOffset{"ConstMethod._flags._flags", &JavaLayout::const_flags},
    DescribedOffset{"ConstMethod._constMethod_size", &JavaLayout::const_words},
    DescribedOffset{"ConstMethod._code_size", &JavaLayout::const_code_bytes},
    DescribedOffset{"ConstMethod._name_index", &JavaLayout::const_name},
    DescribedOffset{"ConstantPool._pool_holder", &JavaLayout::pool_holder},
    DescribedOffset{"ConstantPool._source_file_name_index", &JavaLayout::pool_file,
                    Need::kOptional},
    DescribedOffset{"InstanceKlass._source_file_name_index", &JavaLayout::class_file,
                    Need::kOptional},
    DescribedOffset{"Klass._name", &JavaLayout::class_name},
    DescribedOffset{"Symbol._length", &JavaLayout::symbol_bytes},
    DescribedOffset{"Symbol._body", &JavaLayout::symbol_body},
    DescribedOffset{"JavaThread._anchor", &JavaLayout::thread_anchor},
    DescribedOffset{"JavaThread._osthread", &JavaLayout::thread_os},
    DescribedOffset{"Thread._osthread", &JavaLayout::thread_os},
    DescribedOffset{"JavaThread._next", &JavaLayout::thread_next, Need::kOptional},
    DescribedOffset{"JavaFrameAnchor._last_Java_sp", &JavaLayout::anchor_stack},
    DescribedOffset{"JavaFrameAnchor._last_Java_pc", &JavaLayout::anchor_pc},
    DescribedOffset{"JavaFrameAnchor._last_Java_fp", &JavaLayout::anchor_frame},
    DescribedOffset{"JavaCallWrapper._anchor", &JavaLayout::wrapper_anchor},
    DescribedOffset{"OSThread._thread_id", &JavaLayout::os_tid},
    DescribedOffset{"ThreadsList._length", &JavaLayout::threads_length, Need::kOptional},
    DescribedOffset{"ThreadsList._threads", &JavaLayout::threads_array, Need::kOptional},
    // Of waits. None is required: without one of them, less is known of waits.
    DescribedOffset{"JavaThread._current_pending_monitor", &JavaLayout::thread_entered,
                    Need::kOptional},
    DescribedOffset{"Thread._current_pending_monitor", &JavaLayout::thread_entered,
                    Need::kOptional},
    DescribedOffset{"JavaThread._current_waiting_monitor", &JavaLayout::thread_awaited,
                    Need::kOptional},
    DescribedOffset{"Thread._current_waiting_monitor", &JavaLayout::thread_awaited,
                    Need::kOptional},
    DescribedOffset{"JavaThread._monitor_owner_id", &JavaLayout::thread_owner_id, Need::kOptional},
    DescribedOffset{"JavaThread._stack_base", &JavaLayout::thread_stack_end, Need::kOptional},
    DescribedOffset{"JavaThread._stack_size", &JavaLayout::thread_stack_bytes, Need::kOptional},
    DescribedOffset{"JavaThread._lock_stack", &JavaLayout::thread_locks, Need::kOptional},
    DescribedOffset{"LockStack._top", &JavaLayout::locks_top, Need::kOptional},
    DescribedOffset{"LockStack._base[0]", &JavaLayout::locks_first, Need::kOptional},
    DescribedOffset{"ObjectMonitor._object", &JavaLayout::monitor_object, Need::kOptional},
    DescribedOffset{"ObjectMonitor._owner", &JavaLayout::monitor_owner, Need::kOptional},
    DescribedOffset{"oopDesc._metadata._compressed_klass", &JavaLayout::object_class,
                    Need::kOptional},
    DescribedOffset{"oopDesc._compressed_klass", &JavaLayout::object_class,
                    Need::kOptional},  // 27+
};
inline constexpr std::array kStatics = {
    DescribedStatic{"Abstract_VM_Version._vm_major_version", &JavaStatics::major_version},
    DescribedStatic{"CodeCache._heaps", &JavaStatics::code_heaps, Need::kOptional},
    DescribedStatic{"CodeCache._heap", &JavaStatics::code_heap, Need::kOptional},
    DescribedStatic{"CodeCache._low_bound", &JavaStatics::code_low, Need::kOptional},
    DescribedStatic{"CodeCache._high_bound", &JavaStatics::code_high, Need::kOptional},
    DescribedStatic{"AbstractInterpreter._code", &JavaStatics::interpreter},
    DescribedStatic{"StubRoutines._call_stub_return_address", &JavaStatics::call_stub_return},
    DescribedStatic{"StubRoutines._cont_returnBarrier", &JavaStatics::return_barrier,
                    Need::kOptional},
    DescribedStatic{"ThreadsSMRSupport._java_thread_list", &JavaStatics::threads, Need::kOptional},
    DescribedStatic{"Threads._thread_list", &JavaStatics::first_thread, Need::kOptional},
    DescribedStatic{"PerfMemory._start", &JavaStatics::counters, Need::kOptional},
    DescribedStatic{"CompressedKlassPointers._base", &JavaStatics::class_base, Need::kOptional},
    DescribedStatic{"CompressedKlassPointers._narrow_klass._base", &JavaStatics::class_base,
                    Need::kOptional},
    DescribedStatic{"Universe._narrow_klass._base", &JavaStatics::class_base, Need::kOptional},
    DescribedStatic{"CompressedKlassPointers._shift", &JavaStatics::class_shift, Need::kOptional},
    DescribedStatic{"CompressedKlassPointers._narrow_klass._shift", &JavaStatics::class_shift,
                    Need::kOptional},
    DescribedStatic{"Universe._narrow_klass._shift", &JavaStatics::class_shift, Need::kOptional},
};
inline constexpr std::array kTypes = {
    DescribedType{"HeapBlock", &JavaLayout::block_bytes},
    DescribedType{"ConstMethod", &JavaLayout::const_bytes},
    DescribedType{"ConstantPool", &JavaLayout::pool_bytes},
};

}  // namespace swipr::runtimes
