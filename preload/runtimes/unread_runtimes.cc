#include "preload/runtimes/unread_runtimes.h"

#include <array>
#include <string_view>

#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {

namespace {

struct Marker {
  std::string_view exported;
  UnreadRuntime runtime;
};
constexpr std::array kMarkers = {
    Marker{"pypy_execute_source", {Language::kPython, "PyPy", "only CPython is read"}},
    Marker{"J9_CreateJavaVM",
           {Language::kJava, "OpenJ9",
            "only HotSpot is read; java -XX:+PerfTool names compiled methods"}},
    Marker{"__svm_version_info",
           {Language::kJava, "native image",
            "compiled ahead of time; native-image -g names its functions"}},
    Marker{"mono_jit_init", {Language::kDotNet, "Mono", "mono --jitmap names compiled methods"}},
    Marker{"coreclr_initialize",
           {Language::kDotNet, "CoreCLR",
            "DOTNET_PerfMapEnabled=1, before .NET 6 COMPlus_PerfMapEnabled=1, names methods"}},
    Marker{"enif_make_atom",
           {Language::kErlang, "BEAM", "erl +JPperf true names functions, from OTP 24 on"}},
};

// Node exports both as well; with the first alone it is another runtime of Node's add-ons.
constexpr std::string_view kNodeAddOns = "napi_create_function";
constexpr std::string_view kNode = "_ZN4node5StartEiPPc";  // node::Start(int, char**)
// v8::HandleScope::HandleScope(v8::Isolate*): Bun imitates it, Deno hides it.
constexpr std::string_view kBun = "_ZN2v811HandleScopeC1EPNS_7IsolateE";
constexpr UnreadRuntime kBunRuntime{
    Language::kJavaScript, "Bun",
    "BUN_JSC_useJITDump=1 BUN_JSC_jitDumpDirectory=/tmp names compiled functions"};
constexpr UnreadRuntime kDenoRuntime{
    Language::kJavaScript, "Deno",
    "deno run --v8-flags=--perf-basic-prof names compiled functions"};

}  // namespace

const UnreadRuntime* find_unread_runtime(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                                         unwind::ImageReader reader) noexcept {
  const auto exports = [&](std::string_view name) {
    return unwind::find_exported(dynamic, load_bias, name, reader) != 0;
  };
  for (const Marker& marker : kMarkers) {
    if (exports(marker.exported)) return &marker.runtime;
  }
  if (!exports(kNodeAddOns) || exports(kNode)) return nullptr;
  return exports(kBun) ? &kBunRuntime : &kDenoRuntime;
}

}  // namespace swipr::runtimes
