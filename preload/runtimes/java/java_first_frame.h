// The steps of JavaStepper that depend on the machine.
#pragma once

#if defined(__x86_64__)
#include "preload/runtimes/java/java_first_frame_x86_64.h"
#else
#include "preload/runtimes/java/java_first_frame_aarch64.h"
#endif
