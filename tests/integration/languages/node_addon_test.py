"""An add-on of node (Node-API): its native functions stand between the functions of JavaScript that call it, and that it
calls."""

import shutil
import subprocess
import unittest

from support import profiles
from support.case import SwiprCase

# The few declarations that it needs of node_api.h, which is not installed everywhere.
ADDON = """
#include <stddef.h>
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
int napi_get_undefined(napi_env, napi_value *);
int napi_call_function(napi_env, napi_value, napi_value, size_t, const napi_value *, napi_value *);
int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);

__attribute__((noinline)) napi_value addon_calls_back(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value callback = NULL, undefined = NULL, result = NULL;
  napi_get_cb_info(env, info, &count, &callback, NULL, NULL);
  napi_get_undefined(env, &undefined);
  napi_call_function(env, undefined, callback, 0, NULL, &result);
  __asm__ volatile("");
  return result;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function = NULL;
  (void)exports;
  napi_create_function(env, "callsBack", 9, addon_calls_back, NULL, &function);
  return function;
}
"""
USER = """
const callsBack = require('./addon.node');
let sink = 0;
let ended = false;
function inner() {
  for (let i = 0; i < 20000; i++) sink = (sink * 31 + i) % 65521;
}
function outer() {
  callsBack(inner);
}
function work() {
  for (let i = 0; i < 50; i++) outer();
  if (!ended) setImmediate(work);
}
process.stdin.on('end', () => { ended = true; }).resume();
console.log('ready');
work();
"""


class AddonTest(SwiprCase):
    def test_addon_calls_back(self):
        node = shutil.which("node")
        self.assertTrue(node, "no node on this machine")
        (self.folder / "addon.c").write_text(ADDON)
        (self.folder / "addon.js").write_text(USER)
        subprocess.run(["cc", "-O1", "-g", "-shared", "-fPIC", "addon.c", "-o", "addon.node"], cwd=self.folder, check=True)
        program = self.start(node, self.folder / "addon.js", preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        recording = self.record(program.pid, "--count", 500, "--interval", "2ms")
        self.assertEqual(program.end().code, 0)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        own = [s for s in stacks if "inner (addon.js)" in s.frames]
        self.assertGreater(profiles.total(own), 0.7 * profiles.total(stacks))
        chain = ("outer (addon.js)", "addon_calls_back", "inner (addon.js)")
        whole = [s for s in own if all(name in s.frames for name in chain) and
                 [name for name in s.frames if name in chain] == list(chain)]
        self.assertGreater(profiles.total(whole), 0.95 * profiles.total(own), [s.frames for s in own][:3])


if __name__ == "__main__":
    unittest.main()
