#include "preload/runtimes/v8/v8_frames.h"

namespace swipr::runtimes {

template class V8FrameReader<ProbedObjects>;
template void read_v8_tokens(const V8Runtime&, ProbedObjects&, const unwind::FrameBuffer&,
                             const V8Registers&, TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
