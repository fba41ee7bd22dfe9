"""Frames of PHP in php-fpm: workers are forked from a master, and what a request has made is gone when it ends."""

import glob
import os
import shutil
import threading
import unittest

from support import deadline, fastcgi, profiles
from support.case import SwiprCase

# The functions use 70, 20 and 10 % of the CPU time, then the request waits.
REQUEST = r"""<?php
namespace App;
class Kernel {
    private static function burn($rounds) {
        for ($i = 0, $sum = 0; $i < $rounds * 200000; $i++) $sum += $i * $i % 7;
        return $sum;
    }
    static function seventy() { return self::burn(7); }
    static function twenty() { return self::burn(2); }
    static function ten() { return self::burn(1); }
    function handle() {
        $closure = fn($x) => self::seventy() + self::twenty() + $x;
        return array_sum(array_map($closure, [self::ten()]));
    }
}
function wait() { usleep(5000); }
echo (new Kernel)->handle();
wait();
"""
POOL = """[global]
error_log = {folder}/fpm.log
daemonize = no
[www]
listen = {folder}/fpm.sock
listen.mode = 0666
pm = static
pm.max_children = 1
{user}
"""
CACHED = ("-d", "opcache.enable=1", "-d", "opcache.file_update_protection=0")
SAME_USER = "user = root\ngroup = root" if os.geteuid() == 0 else ""


def fpm():
    found = [shutil.which(name) for name in ("php-fpm", *(os.path.basename(p) for p in glob.glob("/usr/sbin/php-fpm*")))]
    return next((path for path in found if path), None)


class FpmTest(SwiprCase):
    def start_fpm(self, user, *options):
        """(the worker's process id, the script)."""
        self.folder.chmod(0o755)
        script, pool = self.folder / "request.php", self.folder / "pool.conf"
        script.write_text(REQUEST)
        pool.write_text(POOL.format(folder=self.folder, user=user))
        master = self.start(fpm(), "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", pool, *options, preloaded=True)
        deadline.wait_until((self.folder / "fpm.sock").exists, "php-fpm's socket")
        children = f"/proc/{master.pid}/task/{master.pid}/children"
        (worker,) = deadline.wait_until(lambda: self.read(children).split(), "php-fpm's worker")
        self.wait_for_socket(int(worker))
        return master, int(worker), script

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def recorded(self, worker, script, *arguments):
        """A recording of the worker, while it answers."""
        stop = threading.Event()
        answers = set()

        def ask():
            while not stop.is_set():
                answers.add(fastcgi.get(self.folder / "fpm.sock", script).splitlines()[-1])

        client = threading.Thread(target=ask)
        client.start()
        try:
            return self.record(worker, *arguments)
        finally:
            stop.set()
            client.join()
            self.assertEqual(len(answers), 1)

    def check(self, user, *options):
        self.assertTrue(fpm(), "no php-fpm on this machine")
        master, worker, script = self.start_fpm(user, *options)
        recording = self.recorded(worker, script, "--count", 1500, "--interval", "2ms")
        master.signal(15)
        self.assertEqual(master.end().code, 0)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        handled = [s for s in stacks if "App\\Kernel::handle (request.php)" in s.frames]
        weight = profiles.total(handled)
        self.assertGreater(weight, 0.5 * profiles.total(stacks))  # the rest is the server's
        for stack in handled:
            self.assertNotIn("[function gone]", stack.frames)
        for name, truth in (("seventy", 0.7), ("twenty", 0.2), ("ten", 0.1)):
            share = sum(s.weight for s in handled if f"App\\Kernel::{name} (request.php)" in s.frames) / weight
            self.assertAlmostEqual(share, truth, delta=5 * (truth * (1 - truth) / 400) ** 0.5 + 0.05, msg=name)
        waiting = self.convert(recording, "collapsed", "--frames", "language", "--state", "blocked")
        self.assertIn(["request.php (request.php)", "App\\wait (request.php)", "usleep"], [s.frames[-3:] for s in waiting])

    def test_workers_with_cached_code(self):
        self.check(SAME_USER, *CACHED)

    def test_workers_with_compiled_code(self):
        self.check(SAME_USER, *CACHED, "-d", "opcache.jit=function", "-d", "opcache.jit_buffer_size=16M")

    def test_workers_without_cached_code(self):
        self.check(SAME_USER, "-d", "opcache.enable=0")

    @unittest.skipUnless(os.geteuid() == 0, "only root's php-fpm changes its workers' user")
    def test_workers_that_gave_up_root(self):
        self.check("user = nobody\ngroup = nogroup")


if __name__ == "__main__":
    unittest.main()
