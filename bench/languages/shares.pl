# Functions that use 70, 20 and 10 % of the CPU time. Commands on standard input, an answer line each:
# mark: "<units of work> <CPU ns in seventy> <in twenty> <in ten>"
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_THREAD_CPUTIME_ID);

my %used = (seventy => 0, twenty => 0, ten => 0);
my $units = 0;

sub cpu { return int(clock_gettime(CLOCK_THREAD_CPUTIME_ID) * 1e9) }

sub spin {
    my $value = 1;
    for my $number (0 .. 599) { $value = $value * 31 % 65521 + $number }
    return;
}

sub chain {
    my $depth = shift;
    if ($depth == 0) { spin() } else { chain($depth - 1) }
    return;
}

sub burn {
    my ($name, $count) = @_;
    my $begin = cpu();
    for (1 .. $count) {
        chain(8);
        $units++;
    }
    $used{$name} += cpu() - $begin;
    return;
}

sub seventy { burn('seventy', 70); return }
sub twenty { burn('twenty', 20); return }
sub ten { burn('ten', 10); return }

sub has_input {
    vec(my $read = '', fileno(STDIN), 1) = 1;
    return select($read, undef, undef, 0) == 1;
}

sub work {
    until (has_input()) {
        seventy();
        twenty();
        ten();
    }
    return;
}

$| = 1;
print "ready\n";
work();
while (defined(my $line = <STDIN>)) {
    print join(' ', $units, @used{qw(seventy twenty ten)}), "\n";
    work();
}
