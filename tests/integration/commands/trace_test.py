"""swipr trace and --split: samples inside slow calls of a program whose slow calls do what others never do."""

import json
import signal
import unittest

from support import deadline, products, tracing
from support.case import SwiprCase

COUNT, INTERVAL_NS = 300, 2_000_000
LONG_NS = 8_000_000  # of rehash() and load_page()


class TraceTest(SwiprCase):
    def record(self, *functions, command=f"serve {COUNT}", program="calls_nofp"):
        """A recording of the command's calls, and what the program said of them."""
        target = self.start_target(program)
        file = self.folder / "calls.swipr"
        running = self.start_swipr("trace", "--pid", target.pid, "--interval", f"{INTERVAL_NS}ns", "--max-overhead",
                                   "1000%", "-o", file, *functions)

        def is_traced():
            changes = tracing.changed_code(target.pid)
            return changes and all(change[1] != "is writable" for change in changes)

        deadline.wait_until(is_traced, "no function is traced")
        target.send(command + "\n")
        said = list(map(int, target.read_line().split()))
        running.signal(signal.SIGINT)
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        return file, said, finished

    def report(self, file, *options):
        return json.loads(self.swipr("report", "--json", *options, file).out)

    def weights(self, split, name):
        found = [each for each in split["functions"] if each["function"].startswith(name + "(")]
        return (found[0]["slow"], found[0]["normal"]) if found else (0, 0)

    def test_slow_calls_are_told_from_the_others(self):
        file, (calls, slow, rehashed, loaded), finished = self.record("handle_request")
        self.assertIn("samples met", finished.err)
        split = self.report(file, "--split", "handle_request:4ms")["split"]
        # Of calls within calls, all are measured, and the outer ones are told.
        self.assertEqual(split["slow"]["calls"] + split["normal"]["calls"], 2 * calls)
        self.assertGreaterEqual(split["slow"]["calls"], slow)
        self.assertEqual(split["unfinished"]["samples"], 0)
        rehash, others_rehash = self.weights(split, "rehash")
        load, others_load = self.weights(split, "load_page")
        self.assertEqual((others_rehash, others_load), (0, 0), split)
        # Half of what they took at least: four standard errors of 60 calls of four samples each are 26 %.
        self.assertGreater(rehash, rehashed * LONG_NS / 2)
        self.assertGreater(load, loaded * LONG_NS / 2)
        handled, _ = self.weights(split, "handle_request")
        looked_up, others_looked_up = self.weights(split, "look_up")
        self.assertGreater(others_looked_up, 0)
        self.assertLess(handled - rehash - load - looked_up, 0.05 * handled)
        self.assertLessEqual(split["slow"]["sampled_calls"], split["slow"]["calls"])
        self.assertGreater(split["slow"]["sampled_calls"], slow / 2)

    def test_locks_that_slow_calls_wait_for(self):
        file, (journal, cache, others_cache), _ = self.record("handle_call", program="locked_calls_nofp")
        split = self.report(file, "--split", "6ms")["split"]
        self.assertLess(split["slow"]["calls"], COUNT / 2)
        locks = {(each["lock"], each["owner"].split()[0], each["function"]): each for each in split["locks"]}
        flushed = locks["mutex main::flushes+0x40 in want_journal", "flusher", "flush_journal"]
        cleaned = locks["mutex main::cleans+0x40 in want_cache", "cleaner", "clean_cache"]
        self.assertEqual(flushed, split["locks"][0])
        # Calls that the machine delayed are slow, too: sums of both parts are compared for the cache. Its owner has
        # the lock before clean_cache() begins and after it has ended, too: a quarter of the time on a slow machine.
        self.assertAlmostEqual(flushed["slow_ns"], journal, delta=0.25 * journal)
        self.assertEqual(flushed["normal_ns"], 0)
        waits = [each for (lock, owner, _), each in locks.items() if lock.endswith(" in want_cache") and owner == "cleaner"]
        for times in (waits, [cleaned]) if products.IS_X86_64 else (waits,):
            self.assertAlmostEqual(sum(each["slow_ns"] + each["normal_ns"] for each in times), cache + others_cache,
                                   delta=0.25 * (cache + others_cache))
        self.assertGreater(cleaned["slow_ns"] + cleaned["normal_ns"], (cache + others_cache) / 2)
        self.assertGreater(cleaned["normal_ns"], cleaned["slow_ns"])
        text = self.swipr("report", "--split", "6ms", file).out.decode()
        self.assertRegex(text, r"(?m)^ +[0-9.]+ ms +0 s +\+[0-9.]+ ms  mutex main::flushes\+0x40 in want_journal, "
                               r"held by flusher \d+ in flush_journal$")

    def test_parts_are_exported_and_nested(self):
        file, _, _ = self.record("handle_request", "rehash")

        def stacks(*options):
            return self.swipr("convert", "--format", "collapsed", *options, file).out.decode()

        slow = stacks("--split", "handle_request:4ms")
        normal = stacks("--split", "handle_request:4ms:normal")
        self.assertIn("rehash", slow)
        self.assertIn("load_page", slow)
        self.assertNotIn("rehash", normal)
        self.assertNotIn("load_page", normal)
        both = stacks("--split", "handle_request:4ms", "--split", "rehash:1ms")
        self.assertIn("rehash", both)
        self.assertTrue(all("rehash" in line for line in both.splitlines()), both)
        labelled = self.swipr("convert", "--format", "pprof", file, "-o", file.with_suffix(".pb.gz"))
        self.assertEqual(labelled.code, 0)
        page = self.swipr("convert", "--split", "handle_request:4ms:difference", file, "-o",
                              file.with_suffix(".html"))
        self.assertEqual(page.code, 0)

    def test_too_few_calls_for_a_quantile(self):
        file, _, finished = self.record("throwing_call", command="throw 10")
        self.assertIn("throwing_call(int): 10 calls", finished.err)
        failed = self.swipr("report", "--split", "p99", file, expect=1)
        self.assertIn("too few calls", failed.err)

    def test_ends_at_once_if_nothing_can_be_traced(self):
        target = self.start_target("calls_nofp")
        failed = self.swipr("trace", "--pid", target.pid, "-o", self.folder / "x.swipr", "libc.so.6!setjmp",
                            expect=1)
        self.assertIn("setjmp is not traced, because", failed.err)
        self.assertIn("no function was traced", failed.err)

    def test_wrong_splits(self):
        file, _, _ = self.record("handle_request")
        for text, expected in (("other:p95", "no traced function is 'other'"),
                               ("handle_request:10s", "no sample is left")):
            failed = self.swipr("report", "--split", text, file, expect=1)
            self.assertIn(expected, failed.err)
        self.assertIn("is not [FUNCTION:]THRESHOLD", self.swipr("report", "--split", "p", file, expect=2).err)


if __name__ == "__main__":
    unittest.main()
