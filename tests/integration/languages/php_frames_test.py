"""Frames of PHP in recordings: shares, chains, lines and waits of programs whose truth is known, in the php of this
machine, or of the root in SWIPR_TEST_ROOT, and in those that SWIPR_PHPS names (separated by colons)."""

import json
import os
import re
import unittest

from support import languages, profiles, sampling

# The functions use 70, 20 and 10 % of the CPU time, and say so themselves.
SHARES = r"""<?php
function used() {
    $u = getrusage();
    return $u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec'] + ($u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']) / 1e6;
}
function burn($name, $seconds) {
    global $times;
    $begin = used();
    do {
        for ($i = 0, $sum = 0; $i < 20000; $i++) $sum += $i * $i % 7;
    } while (($spent = used() - $begin) < $seconds);
    $times[$name] = ($times[$name] ?? 0) + $spent;
}
function seventy() { burn('seventy', 0.07); }
function twenty() { burn('twenty', 0.02); }
function ten() { burn('ten', 0.01); }
function has_ended() {
    $read = [STDIN]; $none = null;
    return stream_select($read, $none, $none, 0) === 1;
}
echo "ready\n";
while (!has_ended()) { seventy(); twenty(); ten(); }
echo "{$times['seventy']} {$times['twenty']} {$times['ten']}\n";
"""

# Every function is called by one other: its name is that of its caller and one letter more. Calls are direct, through
# callbacks of built-in functions, methods, generators, exceptions, fibers and files.
CHAINS = r"""<?php
mt_srand(14);
$ways = [
    '%s();', 'array_map(fn($x) => %s(), [1]);', '$a = [2, 1]; usort($a, function ($x, $y) { %s(); return $x - $y; });',
    'foreach ((function () { yield %s(); })() as $x) {}', 'try { %s(); throw new Exception("x"); } catch (Exception $e) {}',
    'call_user_func("%s");', '(new Caller)->call("%s");', 'preg_replace_callback("/a/", fn($m) => %s() ?? "b", "a");',
    'Caller::callStatic("%s");',
];
if (class_exists('Fiber')) $ways[] = '(new Fiber(function () { %s(); }))->start();';
class Caller {
    function call($f) { return $f(); }
    static function callStatic($f) { return $f(); }
}
$number = 0;
function make($name, $depth) {
    global $ways, $number;
    if ($depth === 0) return "function $name() { for (\$i = 0, \$s = 0; \$i < 3000; \$i++) \$s += \$i * \$i % 7; }\n";
    $text = "function $name() { switch (mt_rand(0, 2)) {";
    $more = '';
    foreach (['a', 'b', 'c'] as $at => $letter) {
        $text .= " case $at: " . sprintf($ways[$number++ % count($ways)], $name . $letter) . ' break;';
        $more .= make($name . $letter, $depth - 1);
    }
    return "$text } }\n$more";
}
$path = __DIR__ . '/made.php';
file_put_contents($path, "<?php\nnamespace Made;\nclass_alias('Caller', 'Made\\Caller');\nuse Exception, Fiber;\n"
    . str_replace(['call_user_func("', '->call("', 'callStatic("'],
                  ['call_user_func("Made\\\\', '->call("Made\\\\', 'callStatic("Made\\\\'],
                  make('r', 4))
    . "function run(\$f) { while (!\$f()) for (\$i = 0; \$i < 20; \$i++) r(); }\n");
require $path;
echo "ready\n";
\Made\run(function () {
    $read = [STDIN]; $none = null;
    return stream_select($read, $none, $none, 0) === 1;
});
"""

# Cycles, which are collected or not.
GARBAGE = r"""<?php
if ($argv[1] === 'off') gc_disable();
class Part { public $other; }
function has_ended() {
    $read = [STDIN]; $none = null;
    return stream_select($read, $none, $none, 0) === 1;
}
function allocate() {
    for ($i = 0; $i < 20000; $i++) {
        $a = new Part; $b = new Part; $a->other = $b;
        if (gc_enabled()) $b->other = $a;
    }
}
echo "ready\n";
while (!has_ended()) allocate();
"""

# Each function waits for some time, in turns; the lines say so.
WAITS = r"""<?php
class Waits {
    function in_sleep() {
        sleep(1); // wait
    }
    static function in_usleep() {
        usleep(100000); // wait
    }
}
function in_select() {
    $read = [STDIN]; $none = null;
    return stream_select($read, $none, $none, 0, 100000); // wait
}
function in_accept($server) {
    @stream_socket_accept($server, 0.1); // wait
}
function in_read($fifo) {
    $writer = popen("sleep 0.1; echo x > $fifo", 'r');
    file_get_contents($fifo); // wait
    pclose($writer);
}
function in_generator() {
    usleep(100000); // wait
    yield 1;
}
function fall($n, $then) {
    if ($n > 0) return fall($n - 1, $then); // wait
    $then();
}
$server = stream_socket_server('tcp://127.0.0.1:0');
echo "ready\n";
do {
    (new Waits)->in_sleep(); // wait
    Waits::in_usleep();
    in_accept($server);
    foreach (in_generator() as $x) {} // wait
    array_map(function ($x) { usleep(100000); }, [1]); // wait
    fall(300, fn() => usleep(100000)); // wait
    in_read($argv[1]);
    eval("\nusleep(100000);"); // wait
} while (in_select() === 0);
echo "whole\n";
"""

# Code, closures, exceptions, cycles for the garbage collector, deep recursion and generators that come and go.
STORM = r"""<?php
function deep($n) { return $n === 0 ? 0 : 1 + deep($n - 1); }
function numbers($n) { for ($i = 0; $i < $n; $i++) yield $i; }
function storm($number) {
    $made = eval("return function (\$x) { \$s = 0; for (\$i = 0; \$i < \$x; \$i++) \$s += \$i; return \$s + $number; };");
    for ($i = 0; $i < 3000; $i++) {
        $a = new stdClass; $b = new stdClass;
        $a->b = $b; $b->a = $a; $a->f = fn() => $i;
    }
    try { throw new Exception(str_repeat('x', 100)); } catch (Exception $e) {}
    foreach (numbers(100) as $x) $sum = ($sum ?? 0) + $x;
    gc_collect_cycles();
    return $made(200) + deep(3000) + array_sum(array_map(fn($x) => $x * $number, range(1, 50)));
}
echo "ready\n";
for ($number = 0;; $number++) {
    storm($number);
    $read = [STDIN]; $none = null;
    if (stream_select($read, $none, $none, 0) === 1) break;
}
echo "whole\n";
"""


def programs():
    return languages.programs("php", "SWIPR_PHPS")


@sampling.sampled
class PhpTest(languages.LanguageCase):
    def for_each_php(self, check, text, name):
        self.assertTrue(programs(), "no php on this machine")
        source = self.source(text, f"{name}.php")
        for path in programs():
            for settings in self.settings():
                with self.subTest(php=path, settings=settings):
                    check([path, *(word for setting in settings for word in ("-d", setting)), source])

    def settings(self):
        """Code without and with a cache: compiled code in shared memory, and code from files."""
        cache = self.folder / "cached"
        cache.mkdir(exist_ok=True)
        yield []
        # Else new files are not cached.
        cached = ["opcache.enable_cli=1", "opcache.file_update_protection=0"]
        yield [*cached, "opcache.jit=function", "opcache.jit_buffer_size=16M"]
        yield [*cached, f"opcache.file_cache={cache}", "opcache.file_cache_only=1"]

    def test_shares(self):
        self.for_each_php(self.check_shares, SHARES, "shares")

    def check_shares(self, command):
        program = self.run_program(*command)
        recording, times = self.record_shares(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        whole = [s for s in stacks if "shares.php (shares.php)" in s.frames]
        self.assertGreater(profiles.total(whole), 0.99 * profiles.total(stacks))
        self.check_lost(stacks, 0.005)
        self.assertFalse(profiles.has_function(whole, "^execute_ex$"))
        self.check_parts(whole, times, "{} (shares.php)")

    def test_chains(self):
        self.for_each_php(self.check_chains, CHAINS, "chains")

    def check_chains(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 2000, "--interval", "1ms")
        self.finish(program)
        if not any(word.startswith("opcache.jit=") for word in map(str, command)):
            self.check_rooted(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        self.check_lost(stacks, 0.005)
        for stack in stacks:
            names = [m[1] for f in stack.frames if (m := re.fullmatch(r"Made\\(r[abc]*) \(made.php\)", f))]
            for caller, name in zip(names, names[1:]):
                self.assertEqual(name[:-1], caller, stack.frames)
        deep = [s for s in stacks if profiles.has_function([s], r"^Made\\r[abc]{4} ")]
        # The stacks of new fibers take as much time as compiled code.
        others = [s for s in stacks if s.frames[-1] != "Fiber::start"]
        self.assertGreater(profiles.total(deep), 0.7 * profiles.total(others))
        for stack in deep:
            if "[function gone]" not in stack.frames:
                self.assertEqual(stack.frames[:3], ["chains.php (chains.php)", "Made\\run (made.php)",
                                                    "Made\\r (made.php)"])

    def test_waits(self):
        """The blocked thread shows the line in which it waits, and is not woken."""
        self.for_each_php(self.check_waits, WAITS, "waits")

    def check_waits(self, command):
        fifo = self.folder / "fifo"
        if not fifo.exists():
            os.mkfifo(fifo)
        program = self.run_program(*command, fifo)
        recording = self.record(program.pid, "--rate", 200, "--count", 800, "--max-overhead", "100%")
        self.assertEqual(self.finish(program).strip(), "whole")
        self.check_undisturbed(recording)
        stacks = self.convert(recording, "collapsed")
        self.check_lost(stacks, 0)
        self.assertTrue(profiles.has_function(stacks, r"^waits\.php\(\d+\) : eval\(\)'d code "))
        for name in ("Waits::in_sleep", "Waits::in_usleep", "in_select", "in_accept", "in_read", "in_generator"):
            self.assertTrue(profiles.has_function(stacks, f"^{name} \\(waits.php\\)$"), name)
        for name in ("sleep", "usleep", "stream_select", "array_map", "file_get_contents"):
            self.assertTrue(profiles.has_function(stacks, f"^{name}$"), name)
        falls = [s for s in stacks if "fall (waits.php)" in s.frames and s.frames[-1] != "fall (waits.php)"]
        self.assertIn(301, [s.frames.count("fall (waits.php)") for s in falls])
        lines = {number for number, line in enumerate(WAITS.splitlines(), 1) if line.endswith("// wait")}
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--state", "blocked").out.decode()
        self.assertLessEqual(lines, set(map(int, re.findall(r"waits\.php:(\d+)", text))))

    def test_storm(self):
        """The program survives, and its functions have names."""
        self.for_each_php(self.check_storm, STORM, "storm")

    def check_storm(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 3000, "--rate", 1000)
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.assertTrue(profiles.has_function(stacks, r"^storm \(storm\.php\)$"))
        self.check_lost(stacks, 0.02)

    def test_garbage_collection(self):
        for how in ("on", "off"):
            with self.subTest(how=how):
                source = self.folder / "garbage.php"
                source.write_text(GARBAGE)
                program = self.run_program(programs()[0], source, how)
                recording = self.record(program.pid, "--count", 500, "--interval", "2ms")
                report = json.loads(self.swipr("report", "--json", "--weight", "cpu", recording).out)
                self.finish(program)  # the files of a root are found by way of it
                share = report.get("garbage_collection", 0) / report["weight_total"]
                if how == "on":
                    self.assertGreater(share, 0.1)
                    self.assertLess(share, 0.9)
                    self.assertEqual(report["garbage_collection"], report["php"]["collectors_ns"])
                else:
                    self.assertEqual(share, 0)

    def run_shares(self, **started):
        source = self.source(SHARES, "shares.php")
        return self.run_program(programs()[0], source, **started)

    def test_selected_frames(self):
        program = self.run_shares()
        self.check_selected_frames(program, r"php \d+\.\d+: frames are read", "burn (shares.php)", r"\(shares\.php\)", "php")

    def test_switched_off(self):
        program = self.run_shares(env={"SWIPR_RUNTIMES": "0"})
        self.check_switched_off(program, r"shares\.php")


if __name__ == "__main__":
    unittest.main()
