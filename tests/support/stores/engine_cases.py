#!/usr/bin/env python3
"""The same requests to a real server and to fake_engines.py; prints status codes side by side and fails on a difference.

  python3 tests/support/stores/engine_cases.py FAKE_URL [--pyroscope REAL_URL] [--parca REAL_URL]
Without a real server it checks the fake against what the real ones answered when this was written
(Pyroscope of 2026-08, v2 storage; Parca of 2026-07).
"""
import base64, gzip, json, struct, sys, time, urllib.error, urllib.request


def varint(n):
    n &= 2**64 - 1
    out = b""
    while True:
        n, low = n >> 7, n & 127
        out += bytes([low | (128 if n else 0)])
        if not n:
            return out


def field(tag, value):
    if isinstance(value, int):
        return varint(tag << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(value)) + value


def pprof(stacks=((("leaf", "main"), 1000),), types=(("cpu", "nanoseconds"),), period=True, age_s=1, time_nanos=None, duration=15 * 10**9,
          labels=None, empty_first=True, first_function=1, first_mapping=1, raw=False):
    strings, index = [""], {"": 0}

    def text(value):
        if value not in index:
            index[value] = len(strings)
            strings.append(value)
        return index[value]

    out = b"".join(field(1, field(1, text(a)) + field(2, text(b))) for a, b in types)
    known = {}
    for number, (stack, value) in enumerate(stacks):
        ids = [known.setdefault(name, len(known) + 1) for name in stack]
        sample = field(1, b"".join(map(varint, ids))) + field(2, varint(value) * len(types))
        for key, label in labels(number) if labels else ():
            sample += field(3, field(1, text(key)) + field(2, text(label)))
        out += field(2, sample)
    out += field(3, field(1, first_mapping) + field(2, 4096) + field(3, 8192) + field(5, text("/bin/app")) + field(7, 1))
    for name, number in known.items():
        function = number - 1 + first_function
        out += field(4, field(1, number) + field(2, first_mapping) + field(3, 4096 + number) + field(4, field(1, function)))
        out += field(5, field(1, function) + field(2, text(name)))
    out += field(9, time.time_ns() - age_s * 10**9 if time_nanos is None else time_nanos) + field(10, duration)
    if period:
        out += field(11, field(1, text("cpu")) + field(2, text("nanoseconds"))) + field(12, 10**7)
    out += b"".join(field(6, s) for s in (strings if empty_first else strings[1:]))
    return out if raw else gzip.compress(out)


def many(n, size=0):
    return [(("f%d" % i + "x" * size, "main"), 5) for i in range(n)]


NAMED = {"__name__": "process_cpu", "service_name": "cases"}
# name, labels, profiles, Pyroscope's answer, Parca's answer; None: not asked
CASES = [
    ("good", NAMED, [pprof()], 200, 200),
    ("not gzipped", NAMED, [pprof(raw=True)], 200, 200),
    ("two samples in a series", NAMED, [pprof(), pprof()], 200, 200),
    ("no __name__", {"service_name": "x"}, [pprof()], 400, 400),
    ("no service_name", {"__name__": "process_cpu"}, [pprof()], 200, 200),
    ("2 h old", NAMED, [pprof(age_s=7200)], 400, 200),
    ("59 min old", NAMED, [pprof(age_s=3540)], 200, 200),
    ("11 min ahead", NAMED, [pprof(age_s=-660)], 400, None),
    ("time 0", NAMED, [pprof(time_nanos=0)], 200, None),
    ("hyphen in sample type", NAMED, [pprof(types=(("run-queue", "nanoseconds"),))], 400, None),
    ("no sample type", NAMED, [pprof(types=())], 400, None),
    ("string 0 not empty", NAMED, [pprof(empty_first=False)], 400, 400),
    ("function id 0", NAMED, [pprof(first_function=0)], 400, 400),
    ("mapping ids begin at 2", NAMED, [pprof(first_mapping=2)], 200, 400),
    ("garbage", NAMED, [b"hello"], 500, 400),
    ("30 labels", {**NAMED, **{"l%d" % i: "v" for i in range(28)}}, [pprof()], 200, 200),
    ("31 labels", {**NAMED, **{"l%d" % i: "v" for i in range(29)}}, [pprof()], 400, 200),
    ("label value of 2,049 bytes", {**NAMED, "x": "y" * 2049}, [pprof()], 400, 200),
    ("dots in a label name", {**NAMED, "k8s.pod.name": "p"}, [pprof()], 200, 200),
    ("invalid UTF-8", NAMED, [pprof([(("zzz",), 5)], raw=True).replace(b"zzz", b"z\xffz")], 400, None),
    ("1,500 frames", NAMED, [pprof([(["f%d" % i for i in range(1500)], 5)])], 200, 200),
    ("16,000 samples", NAMED, [pprof(many(16000))], 200, 200),
    ("16,001 samples", NAMED, [pprof(many(16001))], 400, 200),
    ("over 4 MiB", NAMED, [pprof(many(4300, 1000))], 400, None),
    ("101 labels of a sample", NAMED, [pprof(labels=lambda n: [("k%d" % i, "v") for i in range(101)])], 400, None),
    ("one good, one too old", NAMED, [pprof(), pprof(age_s=7200)], 400, 200),
    ("no profile", NAMED, [], 400, None),
]


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def ask(base, engine, labels, profiles):
    pairs = [{"name": k, "value": v} for k, v in labels.items()]
    samples = [{"rawProfile": base64.b64encode(p).decode()} for p in profiles]
    if engine == "pyroscope":
        return post(base + "/push.v1.PusherService/Push", {"series": [{"labels": pairs, "samples": samples}]})
    return post(base + "/api/profiles/writeraw", {"series": [{"labels": {"labels": pairs}, "samples": samples}], "normalized": False})


def main(arguments):
    fake, real = arguments[0], dict(zip([a.lstrip("-") for a in arguments[1::2]], arguments[2::2]))
    failed = passed = 0
    for name, labels, profiles, *wanted in CASES:
        for engine, want in zip(("pyroscope", "parca"), wanted):
            if want is None:
                continue
            answers = [ask(fake, engine, labels, profiles)]
            if engine in real:
                answers.append(ask(real[engine], engine, labels, profiles))
            good = all(answer == want for answer in answers)
            passed, failed = passed + good, failed + (not good)
            if not good:
                print("%-10s %-28s wanted %d, fake %s" % (engine, name, want, " real ".join(map(str, answers))))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
