# Functions whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
# usage: stress.pl ordinary|hostile. Ends with its input; with code 0 if all calls returned what they should.
use strict;
use warnings;
no warnings qw(recursion redefine);
use List::Util qw(first reduce sum);
use Symbol qw(delete_package);
use threads;

use constant RESULT => 300;
# How a function calls the next one, which is the only one that it calls.
my @WAYS = (
    'return %s();', 'my ($found) = map { %s() } 1; return $found;', 'my $found; my @a = sort { $found = %s(); $a <=> $b } 2, 1; return $found;',
    'return sub { my $found = %s(); return $found }->();', 'eval { die { value => %s() } }; return $@->{value};',
    'my $found = eval q{my $found = %s(); $found}; return $found;', 'return Caller->new->call(\&%s);',
    'my $found; List::Util::first { $found = %s(); 1 } 1; return $found;', 'tie my $x, "Tied", \&%s; return $x;',
    'return bless({ code => \&%s }, "Number") + 1;', 'my $found; { my $x = bless { code => sub { $found = %s() } }, "Guard" } return $found;',
    'my $found; "a" =~ /a(?{ $found = %s() })/; return $found;', 'my $found; local $SIG{__WARN__} = sub { $found = %s() }; warn "x"; return $found;',
    'return List::Util::reduce { my $found = %s(); $found } 1, 2;', 'my $next = __PACKAGE__->can("%s"); return $next->();',
);
my $number = 0;

package Caller { sub new { return bless {}, shift } sub call { my ($self, $code) = @_; return $code->() } }
package Tied { sub TIESCALAR { my ($class, $code) = @_; return bless { code => $code }, $class } sub FETCH { return $_[0]{code}->() } }
package Number { use overload '+' => sub { return $_[0]{code}->() } }
package Guard { sub DESTROY { $_[0]{code}->(); return } }

package main;

sub leaf {
    my ($count, $value) = (shift, 0);
    $value++ for 1 .. $count;
    return $value;
}

sub text_of {
    my ($name, $depth) = @_;
    my @bodies = map { $depth == 0 ? 'return main::leaf(300);' : $WAYS[rand @WAYS] =~ s/%s/$name$_/r } qw(a b c);
    my $below = $depth == 0 ? '' : join '', map { text_of($name . $_, $depth - 1) } qw(a b c);
    return "sub $name {\n my \$n = int rand 3;\n if (\$n == 0) { $bodies[0] }\n elsif (\$n == 1) { $bodies[1] }\n else { $bodies[2] }\n}\n$below";
}

# A new family of functions: its first one, and its package.
sub made {
    my $depth = shift;
    my $place = $number++ % 2000;
    eval qq{package Made$place;\n#line 1 "r$place.pl"\n} . text_of("r$place", $depth) . '1' or die;
    return ("Made$place"->can("r$place"), "Made$place");
}

sub check {
    my $result = shift;
    return if $result == RESULT;
    print STDERR "wrong result $result\n";
    POSIX::_exit(3);
}

sub has_ended {
    vec(my $read = '', fileno(STDIN), 1) = 1;
    return select($read, undef, undef, 0) == 1;
}

sub deep {
    my $depth = shift;
    return $depth == 0 ? 0 : 1 + deep($depth - 1);
}

sub storm {
    my ($first, $package) = made(2);
    check($first->()) for 1 .. rand 100;
    deep(int rand 3000);
    for my $place (1 .. 1000) {
        my $x = { place => $place };
        my $f = sub { return $x->{place} };
        $f->();
    }
    threads->create(sub { check($first->()) for 1 .. 20 })->join if rand() < 0.02;
    undef $first;
    delete_package($package);
    return;
}

require POSIX;
my ($family) = made(4);
$| = 1;
print "ready\n";
if ($ARGV[0] eq 'hostile') {
    do { storm() } until has_ended();
} else {
    do { check($family->()) for 1 .. 50 } until has_ended();
}
print "whole\n";
