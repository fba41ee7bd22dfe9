"""Frames of R in recordings: shares, chains and waits of programs whose truth is known, in the R of this machine, or of
the root in SWIPR_TEST_ROOT, and in those that SWIPR_RS names (paths of Rscript, separated by colons)."""

import re
import unittest

from support import languages, profiles, sampling

# R cannot look whether its input has ended: a file says so.
HAS_ENDED = """
has_ended <- function() file.exists(commandArgs(TRUE))
cat("ready\\n")
"""

# The functions use 70, 20 and 10 % of the CPU time, and say so themselves.
SHARES = HAS_ENDED + """
used <- function() sum(proc.time()[1:2])
times <- c(seventy = 0, twenty = 0, ten = 0)
burn <- function(name, seconds) {
  begin <- used()
  repeat {
    total <- 0
    for (i in 1:20000) total <- total + i * i %% 7
    spent <- used() - begin
    if (spent >= seconds) break
  }
  times[name] <<- times[name] + spent
}
seventy <- function() burn("seventy", 0.7)
twenty <- function() burn("twenty", 0.2)
ten <- function() burn("ten", 0.1)
run <- function() while (!has_ended()) { seventy(); twenty(); ten() }
run()
cat(times, "\\n")
"""

# Every function is called by one other: its name is that of its caller and one letter more. Calls are direct, through
# closures, promises, conditions, generics and callbacks of C.
CHAINS = HAS_ENDED + """
ways <- c(
  "%s()", "sapply(1, function(i) %s())", "do.call('%s', list())", "tryCatch(%s(), error = identity)",
  "tryCatch({ %s(); stop('x') }, error = identity)", "Reduce(function(a, b) { %s(); a }, 1:2)", "eval(quote(%s()))",
  "eval(parse(text = '%s()'))", "own$%s()", "local(%s())", "identity(%s())", "(function() { on.exit(%s()); 1 })()",
  "mapply(function(i) %s(), 1)", "switch('a', a = %s())", "withCallingHandlers(warning('x'), warning = function(w) { %s(); invokeRestart('muffleWarning') })",
  "Filter(function(i) { %s(); TRUE }, 1)", "base::identity(%s())", "optimize(function(x) { %s(); x }, c(0, 1), tol = 0.9)",
  "repeat { %s(); break }", "vapply(1, function(i) { %s(); 1 }, 1)", "Recall_once(function() %s())",
  "format(structure(list(f = function() %s()), class = 'called'))"
)
Recall_once <- function(f, again = TRUE) if (again) Recall(f, FALSE) else f()
format.called <- function(x, ...) { x$f(); "" }
own <- globalenv()
number <- 0
make <- function(name, depth) {
  if (depth == 0) {
    text <- "{ s <- 0; for (i in 1:3000) s <- s + i * i %% 7 }"
  } else {
    parts <- vapply(c("a", "b", "c"), function(letter) {
      way <- ways[number %% length(ways) + 1]
      number <<- number + 1
      make(paste0(name, letter), depth - 1)
      sub("%s", paste0(name, letter), way, fixed = TRUE)
    }, "")
    text <- sprintf("switch(sample(3, 1), { %s }, { %s }, { %s })", parts[1], parts[2], parts[3])
  }
  assign(name, eval(parse(text = paste("function()", text))), globalenv())
}
set.seed(14)
make("r", 4)
run <- function() while (!has_ended()) for (i in 1:20) r()
run()
"""

# Each function waits for some time, in turns.
WAITS = HAS_ENDED + """
in_sleep <- function() Sys.sleep(0.1)
in_read <- function() {
  input <- pipe("sleep 0.1; echo x")
  line <- readLines(input)
  close(input)
}
in_wait <- function() system("sleep 0.1")
fall <- function(n, then) if (n > 0) fall(n - 1, then) else then()
repeat {
  in_sleep()
  in_read()
  in_wait()
  fall(100, function() Sys.sleep(0.1))
  if (has_ended()) break
}
cat("whole\\n")
"""

# Code, closures, conditions, finalizers, garbage collections and deep recursion that come and go.
STORM = HAS_ENDED + """
deep <- function(n) if (n == 0) 0 else 1 + deep(n - 1)
storm <- function(number) {
  made <- eval(parse(text = sprintf("function(n) { s <- %d; for (i in 1:n) s <- s + i; s }", number)))
  assign(paste0("made_", number %% 7), made, globalenv())
  for (i in 1:200) {
    x <- new.env()
    x$f <- function() x$number
    x$number <- i
    reg.finalizer(x, function(e) e$f())
  }
  if (number %% 10 == 0) gc()
  tryCatch(stop(paste(rep("x", 100), collapse = "")), error = function(e) conditionMessage(e))
  made(200) + deep(500) + stats::sd(c(1, 2, number))
}
number <- 0
while (!has_ended()) {
  storm(number)
  number <- number + 1
}
cat("whole\\n")
"""


def programs():
    return languages.programs("Rscript", "SWIPR_RS")


@sampling.sampled
class RTest(languages.EndedByFileCase):
    def for_each_r(self, check, text, name):
        self.for_each(programs(), check, text, f"{name}.R")

    def test_shares(self):
        self.for_each_r(self.check_shares, SHARES, "shares")

    def check_shares(self, command):
        program = self.run_program(*command)
        recording, times = self.record_shares(program)
        self.check_rooted(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.check_lost(stacks, 0)
        whole = [s for s in stacks if "run" in s.frames]
        self.assertGreater(profiles.total(whole), 0.99 * profiles.total(stacks))
        self.check_parts(whole, times)

    def test_chains(self):
        self.for_each_r(self.check_chains, CHAINS, "chains")

    def check_chains(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 2000, "--interval", "1ms")
        self.finish(program)
        self.check_rooted(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        self.check_lost(stacks, 0)
        for stack in stacks:
            names = [m[1] for f in stack.frames if (m := re.fullmatch(r"(?:own\$)?(r[abc]*)", f))]
            for caller, name in zip(names, names[1:]):
                self.assertEqual(name[:-1], caller, stack.frames)
        deep = [s for s in stacks if profiles.has_function([s], r"^(own\$)?r[abc]{4}$")]
        self.assertGreater(profiles.total(deep), 0.5 * profiles.total(stacks))
        for stack in deep:
            self.assertEqual(stack.frames[:2], ["run", "r"])
        for name in (r"FUN", r"<anonymous>", r"own\$r[abc]+", r"base::identity", r"format\.called", r"x\$f", r"tryCatch", r"Recall"):
            self.assertTrue(profiles.has_function(stacks, f"^{name}$"), name)

    def test_native_frames(self):
        """Each function replaces the native frame that runs it; functions of C stand above their caller."""
        self.for_each_r(self.check_native_frames, CHAINS, "chains")

    def check_native_frames(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 500, "--interval", "2ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        whole = [s for s in stacks if "run" in s.frames and "r" in s.frames]
        self.assertTrue(whole)
        for stack in whole:
            run, r = stack.frames.index("run"), stack.frames.index("r")
            self.assertLess(stack.frames.index("run_Rmainloop"), run, stack.frames)
            self.assertLess(run, r, stack.frames)
            self.assertFalse(re.match(r"^r[abc]", stack.frames[run + 1]), stack.frames)

    def test_waits(self):
        """The blocked thread shows the function in which it waits, and is not woken."""
        self.for_each_r(self.check_waits, WAITS, "waits")

    def check_waits(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--rate", 200, "--count", 800, "--max-overhead", "100%")
        self.assertEqual(self.finish(program).strip(), "whole")
        self.check_undisturbed(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "blocked")
        self.check_lost(stacks, 0)
        for name in ("in_sleep", "in_read", "in_wait"):
            share = sum(s.weight for s in stacks if name in s.frames) / profiles.total(stacks)
            self.assertGreater(share, 0.1, name)
        falls = [s for s in stacks if "fall" in s.frames and "Sys.sleep" in s.frames]
        self.assertIn(101, [s.frames.count("fall") for s in falls])

    def test_storm(self):
        """The program survives, and its functions have names."""
        self.for_each_r(self.check_storm, STORM, "storm")

    def check_storm(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 3000, "--rate", 1000)
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.check_lost(stacks, 0)
        named = [s for s in stacks if "storm" in s.frames]
        self.assertGreater(profiles.total(named), 0.9 * profiles.total(stacks))
        for name in ("deep", "made", r"stats::sd"):
            self.assertTrue(profiles.has_function(named, f"^{name}$"), name)

    def run_shares(self, **started):
        source = self.source(SHARES, "shares.R")
        return self.run_program(programs()[0], source, self.folder / "end", **started)

    def test_selected_frames(self):
        program = self.run_shares()
        self.check_selected_frames(program, "r: frames are read", "burn", "^burn", "r")

    def test_switched_off(self):
        program = self.run_shares(env={"SWIPR_RUNTIMES": "0"})
        self.check_switched_off(program, "^burn$")


if __name__ == "__main__":
    unittest.main()
