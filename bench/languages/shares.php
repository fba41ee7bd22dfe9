<?php
// Functions that use 70, 20 and 10 % of the CPU time. Commands on standard input, an answer line each:
// mark: "<units of work> <CPU ns in seventy> <in twenty> <in ten>"
$used = ['seventy' => 0, 'twenty' => 0, 'ten' => 0];
$units = 0;

function cpu() {
    $u = getrusage();
    return 1000 * (1000000 * ($u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec']) + $u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']);
}

function spin() {
    for ($number = 0, $value = 1; $number < 600; $number++) $value = $value * 31 % 65521 + $number;
}

function chain($depth) {
    if ($depth === 0) spin();
    else chain($depth - 1);
}

function burn($name, $count) {
    global $used, $units;
    $begin = cpu();
    for ($done = 0; $done < $count; $done++) {
        chain(8);
        $units++;
    }
    $used[$name] += cpu() - $begin;
}

function seventy() { burn('seventy', 700); }
function twenty() { burn('twenty', 200); }
function ten() { burn('ten', 100); }

function has_input() {
    $read = [STDIN];
    $none = null;
    return stream_select($read, $none, $none, 0) === 1;
}

function work() {
    global $used, $units;
    while (true) {
        seventy();
        twenty();
        ten();
        if (!has_input()) continue;
        if (fgets(STDIN) === false) return;
        echo "$units {$used['seventy']} {$used['twenty']} {$used['ten']}\n";
    }
}

echo "ready\n";
work();
