<?php
// Functions whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
// PHP frees closures only, which have no name: each has a file of its own, whose name is the one to be checked.
// usage: stress.php ordinary|hostile. Ends with its input; with code 0 if all calls returned what they should.
const RESULT = 3000;
// How a function calls the next one, which is the only one that it calls.
const WAYS = [
    'return %s;', 'return array_map(fn($x) => %s, [1])[0];', 'return array_reduce([1], fn($x, $y) => %s);',
    'foreach ((function () use ($next) { yield %s; })() as $found) return $found;',
    'try { throw new Found(%s); } catch (Found $found) { return $found->value; }', 'return call_user_func(fn() => %s);',
    'return (new Caller)->call(fn() => %s);', 'return (new Caller)->absent(fn() => %s);',
    'preg_replace_callback("/a/", function ($m) use ($next, &$found) { $found = %s; return "b"; }, "a"); return $found;',
    'try { return %s; } finally { strlen("x"); }', 'return eval("return \$next();");',
];
const FIBER = '$fiber = new Fiber(fn() => %s); $fiber->start(); return $fiber->getReturn();';

class Found extends Exception {
    public $value;
    function __construct($value) {
        parent::__construct();
        $this->value = $value;
    }
}

class Caller {
    function call($function) { return $function(); }
    function __call($name, $arguments) { return $arguments[0](); }
}

// Files of the scheme made: their names lead to their text.
class Made {
    static $texts = [];
    public $context;
    private $text;
    private $at = 0;
    function stream_open($path, $mode, $options, &$opened) {
        $this->text = self::$texts[$path];
        return true;
    }
    function stream_read($count) {
        $part = substr($this->text, $this->at, $count);
        $this->at += strlen($part);
        return $part;
    }
    function stream_eof() { return $this->at >= strlen($this->text); }
    function stream_stat() { return []; }
    function stream_set_option($option, $first, $second) { return false; }
}
stream_wrapper_register('made', 'Made');

function leaf($one) {
    for ($number = 0, $value = 0; $number < 3000; $number++) $value += $one;
    return $value;
}

function body($depth) {
    if ($depth === 0) return 'return leaf(1);';
    $ways = class_exists('Fiber') ? [...WAYS, FIBER] : WAYS;
    return '$next = $next[mt_rand(0, 2)]; ' . sprintf($ways[mt_rand(0, count($ways) - 1)], '$next()');
}

function make($name, $depth) {
    $next = $depth === 0 ? [] : array_map(fn($letter) => make($name . $letter, $depth - 1), ['a', 'b', 'c']);
    Made::$texts = ["made://$name.php" => '<?php return function () use ($next) { ' . body($depth) . ' };'];
    return include "made://$name.php";
}

// A new family of functions: its first one.
function made($depth) {
    static $number = 0;
    return make('r' . $number++ % 5000, $depth);
}

function named($name, $depth) {
    $text = "function $name() { \$next = ['{$name}a', '{$name}b', '{$name}c']; " . body($depth) . " }\n";
    if ($depth > 0) foreach (['a', 'b', 'c'] as $letter) $text .= named($name . $letter, $depth - 1);
    return $text;
}

function check($result) {
    if ($result === RESULT) return;
    fwrite(STDERR, "wrong result $result\n");
    exit(3);
}

function ordinary($first) {
    for ($done = 0; $done < 50; $done++) check($first());
}

function deep($depth) { return $depth === 0 ? 0 : 1 + deep($depth - 1); }

function counted($count) {
    for ($number = 0; $number < $count; $number++) yield deep($number % 20);
}

function storm() {
    $first = made(2);
    for ($calls = mt_rand(0, 100); $calls > 0; $calls--) check($first());
    deep(mt_rand(0, 3000));
    foreach (counted(50) as $x);
    for ($number = 0; $number < 3000; $number++) {
        $a = new stdClass;
        $b = new stdClass;
        $a->b = $b;
        $b->a = $a;
        $b->first = fn() => $first;
    }
    if (mt_rand(0, 9) === 0) gc_collect_cycles();
}

function has_ended() {
    $read = [STDIN];
    $none = null;
    return stream_select($read, $none, $none, 0) === 1;
}

if ($argv[1] === 'ordinary') {
    $path = sys_get_temp_dir() . '/stress' . getmypid() . '.php';
    file_put_contents($path, "<?php\n" . named('r0', 4));
    require $path;
    unlink($path);
}
echo "ready\n";
while (!has_ended()) $argv[1] === 'ordinary' ? ordinary('r0') : storm();
echo "whole\n";
