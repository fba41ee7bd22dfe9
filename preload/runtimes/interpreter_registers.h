// Registers in which interpreters keep where they are, by their DWARF numbers. What they hold
// counts only if it agrees with what the frame in memory says. Context: anywhere, signal handlers
// included.
#pragma once

#include "preload/unwind/base/architecture.h"

namespace swipr::runtimes {

inline constexpr bool kIsX86_64 = unwind::kElfMachine == 62;  // else aarch64

// Source: Zend/zend_vm_execute.h, ZEND_VM_FP_GLOBAL_REG and ZEND_VM_IP_GLOBAL_REG: r14, r15; x27,
// x28.
inline constexpr unsigned kPhpFrameRegister = kIsX86_64 ? 14 : 27;
inline constexpr unsigned kPhpInstructionRegister = kIsX86_64 ? 15 : 28;
// Source: V8, kInterpreterBytecodeOffsetRegister and kInterpreterBytecodeArrayRegister
// (src/codegen, register-x64.h and register-arm64.h): r9, r12; x19, x20.
inline constexpr unsigned kV8PositionRegister = kIsX86_64 ? 9 : 19;
inline constexpr unsigned kV8BytecodeRegister = kIsX86_64 ? 12 : 20;
// Source: HotSpot, rbcp (src/hotspot/cpu): r13; x22.
inline constexpr unsigned kJavaBytecodeRegister = kIsX86_64 ? 13 : 22;
// Source: LuaJIT, BASE and PC in vm_x64.dasc and vm_arm64.dasc: rdx, rbx; x19, x21. On x86-64, rbp
// has BASE where calls change it.
inline constexpr unsigned kLuaJitBaseRegister = kIsX86_64 ? 1 : 19;
inline constexpr unsigned kLuaJitInstructionRegister = kIsX86_64 ? 3 : 21;

}  // namespace swipr::runtimes
