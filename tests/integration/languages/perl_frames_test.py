"""Frames of Perl in recordings: shares, chains, lines and waits of programs whose truth is known, in the perl of this
machine, or of the root in SWIPR_TEST_ROOT, and in those that SWIPR_PERLS names (separated by colons)."""

import re
import unittest

from support import languages, profiles, sampling

HAS_ENDED = r"""
sub has_ended {
    vec(my $read = '', fileno(STDIN), 1) = 1;
    return select($read, undef, undef, shift // 0) == 1;
}
"""

# The functions use 70, 20 and 10 % of the CPU time, and say so themselves.
SHARES = r"""
use strict; use warnings;
my %times;
sub used { my ($user, $system) = times; return $user + $system }
sub burn {
    my ($name, $seconds) = @_;
    my ($begin, $spent) = (used(), 0);
    do {
        my $sum = 0;
        for my $i (0 .. 20000) { $sum += $i * $i % 7 }
    } while (($spent = used() - $begin) < $seconds);
    $times{$name} += $spent;
}
sub seventy { burn('seventy', 0.7) }
sub twenty { burn('twenty', 0.2) }
sub ten { burn('ten', 0.1) }
""" + HAS_ENDED + r"""
$| = 1;
print "ready\n";
until (has_ended()) { seventy(); twenty(); ten() }
print join(' ', @times{qw(seventy twenty ten)}), "\n";
"""

# Every function is called by one other: its name is that of its caller and one letter more. Calls are direct, through
# closures, methods and callbacks of C: blocks and functions of sort, ties, operators, destructors, code in regular
# expressions and handlers of warnings.
CHAINS = r"""
use strict; use warnings;
use List::Util qw(first reduce);
package Caller { sub new { bless {}, shift } sub call { my ($self, $code) = @_; $code->() } }
package Tied { sub TIESCALAR { my ($class, $code) = @_; bless {code => $code}, $class } sub FETCH { $_[0]{code}->(); 1 } }
package Number { use overload '+' => sub { $_[0]{code}->(); 1 } }
package Guard { sub DESTROY { $_[0]{code}->() } }
package Made;
my $number = 0;
my @ways = (
    '%s();', 'my @a = map { %s() } 1;', 'my @a = sort { %s(); $a <=> $b } 2, 1;', 'sub { %s() }->();',
    'eval { %s(); die "x\n" };', 'eval q{%s(); 1} or die;', 'Caller->new->call(\&%s);',
    'List::Util::first { %s(); 1 } 1;', 'tie my $x, "Tied", \&%s; my $y = $x;',
    'my $x = bless({code => \&%s}, "Number") + 1;', '{ my $x = bless {code => \&%s}, "Guard" }',
    '"a" =~ /a(?{ %s() })/;', 'local $SIG{__WARN__} = sub { %s() }; warn "x";',
    'my @a = List::Util::reduce { %s(); $a } 1, 2;', 'my $f = "Made::%s"; no strict "refs"; $f->();',
);
sub make {
    my ($name, $depth) = @_;
    return "sub $name { my \$s = 0; \$s += \$_ * \$_ % 7 for 1 .. 3000; return }\n" if $depth == 0;
    my ($text, $more) = ("sub $name { my \$at = int rand 3; ", '');
    for my $letter (qw(a b c)) {
        my $way = $ways[$number++ % @ways];
        $text .= 'if ($at == ' . (ord($letter) - ord 'a') . ') { ' . sprintf($way, $name . $letter) . " return }\n";
        $more .= make($name . $letter, $depth - 1);
    }
    return "$text }\n$more";
}
srand 14;
my $path = $0 =~ s/chains\.pl$/made.pl/r;
open my $out, '>', $path or die;
print $out "package Made; use strict; use warnings;\n", make('r', 4),
    'sub run { my $f = shift; until ($f->()) { for (1 .. 20) { r() } } } 1;', "\n";
close $out;
require $path;
package main;
""" + HAS_ENDED + r"""
$| = 1;
print "ready\n";
Made::run(\&has_ended);
"""

# Each function waits for some time, in turns; the lines say so.
WAITS = r"""
use strict; use warnings; no warnings 'recursion';
use Socket;
package Waits {
    sub in_sleep {
        sleep 1; # wait
    }
}
sub in_select {
    return has_ended(0.1); # wait
}
sub in_accept {
    my $server = shift;
    local $SIG{ALRM} = sub {};
    Time::HiRes::ualarm(100_000);
    accept(my $client, $server); # wait
}
sub in_read {
    open my $pipe, '-|', 'sleep 0.1; echo x' or die;
    my $line = <$pipe>; # wait
    close $pipe;
}
sub in_wait {
    system 'sleep 0.1'; # wait
}
sub fall {
    my ($n, $then) = @_;
    return fall($n - 1, $then) if $n > 0; # wait
    $then->();
}
""" + HAS_ENDED + r"""
require Time::HiRes;
socket(my $server, PF_INET, SOCK_STREAM, 0) or die;
listen($server, 1) or die;
$| = 1;
print "ready\n";
do {
    Waits::in_sleep();
    in_accept($server);
    in_wait();
    fall(300, sub { select undef, undef, undef, 0.1 });
    in_read();
    eval "\nselect undef, undef, undef, 0.1; 1" or die;
} until in_select();
print "whole\n";
"""

# Code, closures, exceptions, threads of the interpreter and deep recursion that come and go.
STORM = r"""
use strict; use warnings; no warnings 'recursion';
sub deep { my $n = shift; return $n == 0 ? 0 : 1 + deep($n - 1) }
sub storm {
    my $number = shift;
    my $made = eval "sub { my \$s = 0; \$s += \$_ for 1 .. \$_[0]; \$s + $number }";
    for my $i (1 .. 3000) {
        my $x = {number => $i};
        my $f = sub { $x->{number} };
        $x->{f} = $i % 2 ? $f : undef;
        delete $x->{f};
    }
    eval { die {text => 'x' x 100} };
    no strict 'refs';
    no warnings 'redefine';
    *{"made_" . $number % 7} = $made;
    return $made->(200) + deep(3000);
}
""" + HAS_ENDED + r"""
$| = 1;
print "ready\n";
my $number = 0;
do { storm($number++) } until has_ended();
print "whole\n";
"""

THREADS = r"""
use strict; use warnings;
use threads;
sub spin { my $sum = 0; $sum += $_ * $_ % 7 for 1 .. 20000; return }
sub in_thread { my $end = shift; spin() while time < $end; return }
sub in_main { my $end = shift; spin() while time < $end; return }
""" + HAS_ENDED + r"""
$| = 1;
print "ready\n";
until (has_ended()) {
    my $thread = threads->create(\&in_thread, time + 2);
    in_main(time + 2);
    $thread->join;
}
print "whole\n";
"""

# Code that runs while the program is compiled, and when it has ended.
PHASES = r"""
use strict; use warnings;
sub burn {
    my ($end, $sum) = (time + 1, 0);
    while (time <= $end) { $sum += $_ for 1 .. 1000 }
}
BEGIN {
    $| = 1;
    print "ready\n";
    burn();
}
END { burn() }
"""


def programs():
    return languages.programs("perl", "SWIPR_PERLS")


@sampling.sampled
class PerlTest(languages.LanguageCase):
    def for_each_perl(self, check, text, name):
        self.assertTrue(programs(), "no perl on this machine")
        source = self.source(text, f"{name}.pl")
        for path in programs():
            with self.subTest(perl=path):
                check([path, source])

    def test_shares(self):
        self.for_each_perl(self.check_shares, SHARES, "shares")

    def check_shares(self, command):
        program = self.run_program(*command)
        recording, times = self.record_shares(program)
        self.check_rooted(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        whole = [s for s in stacks if "shares.pl (shares.pl)" in s.frames]
        others = [(s.weight, s.frames) for s in stacks if s not in whole]
        self.assertGreater(profiles.total(whole), 0.99 * profiles.total(stacks), others)
        self.check_lost(stacks, 0)
        self.assertFalse(profiles.has_function(whole, "^Perl_runops_standard$"))
        self.check_parts(whole, times, "main::{} (shares.pl)")

    def test_chains(self):
        self.for_each_perl(self.check_chains, CHAINS, "chains")

    def check_chains(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 2000, "--interval", "1ms")
        self.finish(program)
        self.check_rooted(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        self.check_lost(stacks, 0.005)
        for stack in stacks:
            names = [m[1] for f in stack.frames if (m := re.fullmatch(r"Made::(r[abc]*) \(made.pl\)", f))]
            for caller, name in zip(names, names[1:]):
                self.assertEqual(name[:-1], caller, stack.frames)
        deep = [s for s in stacks if profiles.has_function([s], r"^Made::r[abc]{4} ")]
        self.assertGreater(profiles.total(deep), 0.7 * profiles.total(stacks))
        for stack in deep:
            self.assertEqual(stack.frames[:3], ["chains.pl (chains.pl)", "Made::run (made.pl)",
                                                "Made::r (made.pl)"])
        for name in ("sort block", "regex code", r"Tied::FETCH", r"Guard::DESTROY", r"Number::__ANON__", r"\(eval\)", "Caller::call"):
            self.assertTrue(profiles.has_function(stacks, f"^{name}( |$)"), name)

    def test_waits(self):
        """The blocked thread shows the line in which it waits, and is not woken."""
        self.for_each_perl(self.check_waits, WAITS, "waits")

    def check_waits(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--rate", 200, "--count", 800, "--max-overhead", "100%")
        self.assertEqual(self.finish(program).strip(), "whole")
        self.check_undisturbed(recording)
        stacks = self.convert(recording, "collapsed")
        self.check_lost(stacks, 0)
        for name in ("Waits::in_sleep", "main::in_select", "main::in_accept", "main::in_wait", "main::in_read"):
            self.assertTrue(profiles.has_function(stacks, f"^{name} \\(waits.pl\\)$"), name)
        falls = [s for s in stacks if "main::fall (waits.pl)" in s.frames and s.frames[-1] != "main::fall (waits.pl)"]
        self.assertIn(301, [s.frames.count("main::fall (waits.pl)") for s in falls])
        lines = {number for number, line in enumerate(WAITS.splitlines(), 1) if line.endswith("# wait")}
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--state", "blocked").out.decode()
        self.assertLessEqual(lines, set(map(int, re.findall(r"waits\.pl:(\d+)", text))))

    def test_storm(self):
        """The program survives, and its functions have names."""
        self.for_each_perl(self.check_storm, STORM, "storm")

    def check_storm(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 3000, "--rate", 1000)
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.assertTrue(profiles.has_function(stacks, r"^main::storm \(storm\.pl\)$"))
        self.check_lost(stacks, 0.02)

    def test_threads(self):
        """Each thread has an interpreter of its own."""
        self.for_each_perl(self.check_threads, THREADS, "threads")

    def check_threads(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 1500, "--interval", "2ms")
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        for name in ("in_thread", "in_main"):
            share = sum(s.weight for s in stacks if f"main::{name} (threads.pl)" in s.frames) / profiles.total(stacks)
            self.assertGreater(share, 0.3, name)
            whole = [s for s in stacks if f"main::{name} (threads.pl)" in s.frames and
                     "main::spin (threads.pl)" in s.frames]
            self.assertTrue(whole)

    def test_phases(self):
        self.for_each_perl(self.check_phases, PHASES, "phases")

    def check_phases(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 500, "--interval", "10ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        for phase in ("BEGIN", "END"):
            found = [s for s in stacks if f"main::{phase} (phases.pl)" in s.frames]
            self.assertGreater(profiles.total(found), 0.2 * profiles.total(stacks), phase)
            for stack in found:
                begin = stack.frames.index(f"main::{phase} (phases.pl)")
                self.assertNotIn("phases.pl (phases.pl)", stack.frames)
                self.assertNotIn("Perl_runops_standard", stack.frames[:-1])
                self.assertNotIn("main::burn (phases.pl)", stack.frames[:begin])

    def run_shares(self, **started):
        source = self.source(SHARES, "shares.pl")
        return self.run_program(programs()[0], source, **started)

    def test_selected_frames(self):
        program = self.run_shares()
        self.check_selected_frames(program, r"perl 5\.\d+: frames are read", "main::burn (shares.pl)", r"\(shares\.pl\)", "pl")

    def test_switched_off(self):
        program = self.run_shares(env={"SWIPR_RUNTIMES": "0"})
        self.check_switched_off(program, r"shares\.pl")


if __name__ == "__main__":
    unittest.main()
