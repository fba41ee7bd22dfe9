"""With other allocators, in programs with sanitizers, under a debugger, with other preloads: the
output of the program is the same as without swipr."""

import os
import pathlib
import shutil
import subprocess
import unittest

from support import profiles, raw
from support.guest import GuestCase

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
EXPECTED = ["child: 7", "child: 7", "child: 7"]


class ToolsTest(GuestCase):
    def check_recorded(self, plain, recorded, path):
        self.assertEqual(plain.out.decode().splitlines()[:3], EXPECTED, repr(plain))
        self.assertEqual((recorded.code, recorded.out), (plain.code, plain.out), recorded.err)
        said = [line for line in recorded.err.splitlines() if not line.startswith("swipr: ")]
        self.assertEqual(said, plain.err.splitlines())
        totals = [source.totals for source in raw.read(path.read_bytes()).values()]
        self.assertGreater(sum(total["stacks_walked"] for total in totals if total), 0)
        return len(totals)

    def check_allocator(self, name):
        """Before swipr's library and after it, at rest and recorded."""
        library = LIBRARIES / name
        program = self.target_path("allocating_none")
        plain = self.start(program, env={"LD_PRELOAD": str(library)}).wait()
        for order in ((library, self.preload), (self.preload, library)):
            idle = self.start(program, env={"LD_PRELOAD": ":".join(map(str, order))}).wait()
            self.assertEqual((idle.code, idle.out, idle.err), (plain.code, plain.out, plain.err))
        recorded, path = self.run_recorded("allocating_none", env={"LD_PRELOAD": str(library)})
        self.assertEqual(self.check_recorded(plain, recorded, path), 4)

    def test_jemalloc(self):
        self.check_allocator("libjemalloc.so.2")

    def test_tcmalloc(self):
        self.check_allocator("libtcmalloc_minimal.so.4")

    def test_mimalloc(self):
        self.check_allocator("libmimalloc.so.2")

    def test_sanitizers(self):
        for sanitizer in ("address", "undefined", "thread"):
            with self.subTest(sanitizer):
                name = f"allocating_{sanitizer}"
                recorded, path = self.run_recorded(name)
                images = self.check_recorded(self.run_plain(name), recorded, path)
                # TSan's forks are between two parts of the recording of the parent.
                self.assertEqual(images, 7 if sanitizer == "thread" else 4)

    def test_debugger(self):
        def said_by_the_program(finished):
            self.assertEqual(finished.code, 0, repr(finished))
            return [line for line in finished.out.splitlines() if line.startswith((b"child", b"bytes"))]

        gdb = ("gdb", "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off")
        run = ("-ex", "run", self.target_path("allocating_none"))
        plain = self.start(*gdb, *run).wait()
        idle = self.start(*gdb, "-ex", f"set env LD_PRELOAD {self.preload}", *run).wait()
        recorded = self.start_swipr("record", "--rate", 1000, "-o", self.folder / "gdb.swipr", "--", *gdb, *run).wait()
        self.assertEqual(len(said_by_the_program(plain)), 4)
        self.assertEqual(said_by_the_program(idle), said_by_the_program(plain), repr(idle))
        self.assertEqual(said_by_the_program(recorded), said_by_the_program(plain), repr(recorded))

    def test_valgrind(self):
        """At rest: its findings in the program are the same, and it reports none in swipr."""
        command = ("valgrind", "-q", "--error-exitcode=9", self.target_path("burn_nofp"), 1, 3)
        plain = self.start(*command).wait()
        idle = self.start(*command, env={"LD_PRELOAD": str(self.preload)}).wait()
        self.assertEqual(plain.code, 3, repr(plain))
        self.assertEqual((idle.code, idle.out, idle.err), (plain.code, plain.out, plain.err))

    def test_gperftools(self):
        """A profiler with its own timer in the same process: both profiles are complete."""
        theirs = self.folder / "theirs.prof"
        settings = {"LD_PRELOAD": str(LIBRARIES / "libprofiler.so.0"), "CPUPROFILE": str(theirs)}
        recorded, path = self.run_recorded("burn_nofp", 400, 3, env=settings)
        self.assertEqual(recorded.code, 3, recorded.err)
        # Its header is five words; a record of one sample is three or more.
        self.assertGreater(theirs.stat().st_size, 5 * 8 + 3 * 8)
        self.assertTrue(profiles.has_function(self.convert(path), "burn_hot"))

    def test_small_stacks_by_limit(self):
        for preloaded in (False, True):
            limited = self.start("prlimit", "--stack=131072", self.target_path("allocating_none"), preloaded=preloaded).wait()
            self.assertEqual(limited.out.decode().splitlines()[:3], EXPECTED, repr(limited))
            self.assertEqual((limited.code, limited.err), (0, ""))


OTHER_WORLD = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t caught;
static void on_signal(int number) { caught = number; }
int main(int argc, char** argv) {
  if (argc > 1) return 5;
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGURG, &action, NULL);
  raise(SIGURG);
  printf("caught %d\n", caught == SIGURG);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) execl("/proc/self/exe", "again", "again", (char*)NULL);
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  exit(4);
}
"""


OTHER_EXIT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
void _exit(int status) {
  if (write(2, "other\n", 6) != 6) status = 99;
  void (*next)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
  next(status);
  for (;;) pause();
}
"""


OTHER_SIGACTION = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
int sigaction(int number, const struct sigaction* wanted, struct sigaction* before) {
  static int (*next)(int, const struct sigaction*, struct sigaction*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "sigaction");
  return next(number, wanted, before);
}
"""


class OtherPreloadTest(GuestCase):
    def start_beside(self, text, *command):
        """Runs the command with another preload before swipr's, then after it."""
        source, library = self.folder / "other.c", self.folder / "other.so"
        source.write_text(text)
        compiled = self.start("gcc", "-shared", "-fPIC", source, "-o", library).wait()
        self.assertEqual(compiled.code, 0, repr(compiled))
        for order in ((library, self.preload), (self.preload, library)):
            program = self.start(*command, env={"LD_PRELOAD": ":".join(map(str, order))})
            program.wait_ready()
            self.wait_for_socket(program.pid)
            yield program

    def test_their_exit_is_called(self):
        for program in self.start_beside(OTHER_EXIT, self.target_path("killer_nofp")):
            program.send("quick\n")
            finished = program.end()
            self.assertEqual((finished.code, finished.err), (4, "other\n"))
            self.assertEqual(list(self.sockets.iterdir()), [])

    def test_no_call_ends_early_beside_their_sigaction(self):
        """In both orders, the program's own signals end its waits, and swipr's signals end none."""
        for program in self.start_beside(OTHER_SIGACTION, self.target_path("many_calls_nofp"), "signals"):
            path = self.record(program.pid, "--duration", "1s", "--rate", 1000, "--max-overhead", "50%")
            rows = [line.split() for line in program.end().out.decode().splitlines()]
            self.assertEqual([(name, wrong) for name, _, wrong in rows if wrong != "0"], [])
            (source,) = raw.read(path.read_bytes()).values()
            self.assertEqual(source.totals["calls_interrupted"], 0)


def may_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


@unittest.skipUnless(may_mount(), "needs a mount namespace and a program that is setuid for another user")
class SetuidTest(GuestCase):
    def test_a_setuid_program_takes_no_orders_from_its_caller(self):
        """With the library in /etc/ld.so.preload."""
        self.folder.chmod(0o755)
        library, program = (shutil.copy(path, self.folder) for path in (self.preload, self.target_path("burn_nofp")))
        shutil.copytree("/etc", self.folder / "etc", symlinks=True)
        (self.folder / "etc/ld.so.preload").write_text(f"{library}\n")
        for mode, files in ((0o755, 1), (0o4755, 0)):
            records = self.folder / f"records-{mode:o}"
            records.mkdir()
            records.chmod(0o777)
            pathlib.Path(program).chmod(mode)
            script = f"mount --bind {self.folder}/etc /etc && exec setpriv --reuid 65534 env SWIPR_RECORD={records} {program} 20 3"
            finished = self.start("unshare", "--mount", "sh", "-c", script).wait()
            self.assertEqual((finished.code, finished.err), (3, ""))
            self.assertEqual(len(list(records.iterdir())), files)


class OtherLoadersTest(GuestCase):
    """Programs that cannot load the library run unchanged, and `record -- CMD` reports the reason."""

    def check_program(self, compiler, reason):
        source, program = self.folder / "other.c", self.folder / "other"
        source.write_text(OTHER_WORLD)
        compiled = self.start(*compiler, source, "-o", program).wait()
        self.assertEqual(compiled.code, 0, repr(compiled))
        plain = self.start(program).wait()
        self.assertEqual((plain.code, plain.out), (4, b"caught 1\nchild 5\n"))
        preloaded = self.start(program, env={"LD_PRELOAD": str(self.preload)}).wait()
        self.assertEqual((preloaded.code, preloaded.out, preloaded.err), (plain.code, plain.out, ""))
        refused = self.swipr("record", "-o", self.folder / "other.swipr", "--", program, expect=None)
        self.assert_one_line_error(refused, reason, codes=(1,))

    def test_static_pie(self):
        self.check_program(("gcc", "-static-pie"), "static")


if __name__ == "__main__":
    unittest.main()
