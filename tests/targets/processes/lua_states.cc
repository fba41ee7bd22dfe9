// Threads that each make a Lua state, run functions in it and close it, again and again, until the
// input ends. Names of functions begin with that of their thread. The last thread calls Lua without
// protection.
#include <dlfcn.h>

#include <array>
#include <functional>
#include <string>
#include <thread>

#include "tests/targets/target.h"

namespace {

struct lua_State;

// The part of lua.h and lauxlib.h that is used here.
struct Lua {
  void* image = dlopen("liblua5.4.so.0", RTLD_NOW | RTLD_LOCAL);
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(image, name));
  }
  lua_State* (*new_state)() = find<lua_State*()>("luaL_newstate");
  void (*open)(lua_State*) = find<void(lua_State*)>("luaL_openlibs");
  int (*load)(lua_State*, const char*) = find<int(lua_State*, const char*)>("luaL_loadstring");
  int (*call_protected)(lua_State*, int, int, int, long,
                        void*) = find<int(lua_State*, int, int, int, long, void*)>("lua_pcallk");
  void (*call)(lua_State*, int, int, long,
               void*) = find<void(lua_State*, int, int, long, void*)>("lua_callk");
  void (*close)(lua_State*) = find<void(lua_State*)>("lua_close");
};

std::atomic<bool> has_ended{false};

std::string program_of(const std::string& name) {
  std::string text = R"(
    function NAME_burn() local s = 0 for i = 1, 20000 do s = s + i * i % 7 end return s end
    function NAME_yield() NAME_burn() coroutine.yield() NAME_burn() end
    function NAME_run()
      NAME_burn()
      local f = coroutine.wrap(function() pcall(NAME_yield) end)
      f() f()
    end
    for i = 1, 50 do NAME_run() end)";
  for (std::size_t at = 0; (at = text.find("NAME", at)) != std::string::npos;) {
    text.replace(at, 4, name);
  }
  return text;
}

void run(const Lua& lua, const std::string& name, bool is_protected) {
  target::name_thread(name.c_str());
  const std::string program = program_of(name);
  while (!has_ended) {
    lua_State* const state = lua.new_state();
    lua.open(state);
    lua.load(state, program.c_str());
    if (is_protected) {
      lua.call_protected(state, 0, 0, 0, 0, nullptr);
    } else {
      lua.call(state, 0, 0, 0, nullptr);
    }
    lua.close(state);
  }
}

}  // namespace

int main() {
  const Lua lua;
  if (lua.image == nullptr) return 1;
  std::array<std::thread, 4> threads;
  for (std::size_t index = 0; index < threads.size(); ++index) {
    threads[index] = std::thread(run, std::cref(lua), "state_" + std::to_string(index),
                                 index + 1 != threads.size());
  }
  target::say("ready");
  target::wait_for_stdin_end();
  has_ended = true;
  for (std::thread& thread : threads) thread.join();
}
