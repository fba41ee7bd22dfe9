"""Common programs and a build: their files, output and exit codes, compared byte by byte."""

import hashlib
import subprocess

# Each runs in one folder after the other, in a shell, as people use them.
EVERYDAY = (
    "mkdir tree && for i in $(seq 40); do seq $i 3000 > tree/$i; done; cp -a tree copy; rm -r copy",
    "tar --sort=name --mtime=@0 --owner=0 --group=0 -czf tree.tgz tree && tar -tzvf tree.tgz && tar -xzf tree.tgz --to-command='wc -c'",
    "tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - tree | xz -1 -T2 | xz -dc | sha256sum",
    "find tree -type f -print0 | sort -z | xargs -0 -n3 -P1 sha256sum",
    "cat tree/* | sort -n --parallel=2 -S1M | uniq -c | awk '{s += $1 * $2} END {print s}'",
    "git init -q g && cd g && git config user.email a@b && git config user.name n && git config gc.auto 0 && cp ../tree/* . && git add . &&"
    " git commit -qm one && rm 1 && git commit -qam two && git gc -q && git log --stat | head -30 && git fsck --full 2>&1 && git rev-parse HEAD",
    "git clone -q --no-local g h 2>&1 && git -C h log --format=%H | cat && git -C h archive HEAD | sha256sum",
    "ssh-keygen -q -t ed25519 -N '' -C c -f key && ssh-keygen -y -f key | cmp - key.pub; ssh-keygen -l -f key.pub | wc -w",
    "openssl enc -aes-256-cbc -pbkdf2 -nosalt -k secret -in tree/1 | sha256sum; openssl dgst -sha512 tree/2",
    "trap 'echo usr1' USR1; kill -USR1 $$; (sleep 0.05; exit 3) & wait $!; echo $?; timeout -s INT 0.2 sleep 5; echo $?",
    "perl -e '$SIG{ALRM} = sub { die \"alarm\\n\" }; alarm 1; eval { select(undef, undef, undef, 5) }; print $@; print wait, \"\\n\"'",
    "perl -e 'for (1..40) { my $p = fork; if (!$p) { exit $_ } push @p, $p } for (@p) { waitpid $_, 0; print $? >> 8, \" \" }'",
    "seq 200 | while read n; do echo $((n * n)); done | tail -3; mkfifo f; cat f & echo hello > f; wait",
    "exec 9>lock; flock 9; flock -n lock true; echo $?; sed -n '2,4p;5q' tree/7 | rev | tac; diff tree/1 tree/2 | wc -l",
    "python3.11 -c 'import subprocess as s; print(s.run([\"sh\", \"-c\", \"kill -9 $$\"]).returncode, s.getoutput(\"echo x | od -c\"))'",
    "kill -SEGV $$", "ulimit -n 20; cat tree/3 | head -1", "false", "/nonexistent/program",
)


def _tree(folder):
    """What all files hold, except what is random or has times in it."""
    told = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and ".git/" not in f"{name}/" and not name.startswith(("g/.git", "h/.git", "key")):
            told[f"file {name}"] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return told


def everyday(world):
    results = {}
    for number, script in enumerate(EVERYDAY):
        ended = world.run("env", "GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_DATE=@0 +0000", "bash", "-c", script)
        results[f"{number} {script[:60]}"] = (ended.code, ended.out, ended.err)
    return {**results, **_tree(world.work)}


def build_of(count):
    """`make` with so many objects, each the work of three short-lived children."""
    def run(world):
        for i in range(count):
            (world.work / f"f{i}.c").write_text(f"#include <stdio.h>\nint f{i}(int x) {{ printf(\"%d\", x); return x + {i}; }}\n")
        (world.work / "main.c").write_text(
            "".join(f"int f{i}(int);\n" for i in range(count)) +
            "int main(void) { int x = 0;\n" + "".join(f"x = f{i}(x);\n" for i in range(count)) + "return x != %d; }\n" % sum(range(count)))
        objects = " ".join(f"f{i}.o" for i in range(count))
        (world.work / "Makefile").write_text(f"app: main.o {objects}\n\t@cc -o $@ $^\n%.o: %.c\n\t@cc -g -O1 -c -o $@ $<\n")
        ended = world.run("make", "-j2", "app", seconds=300)
        checked = subprocess.run([world.work / "app"], stdout=subprocess.DEVNULL, check=False).returncode \
            if (world.work / "app").exists() else None
        return {"make": (ended.code, ended.out, ended.err), "app": checked, **_objects(world.work)}
    return run


def _objects(folder):
    """Code and data; the debug information names the folder."""
    told = {}
    for path in sorted(folder.glob("*.o")):
        stripped = path.with_suffix(".stripped")
        subprocess.run(["objcopy", "--strip-debug", path, stripped], check=True)
        told[path.name] = hashlib.sha256(stripped.read_bytes()).hexdigest()[:16]
    return told


SQLITE = """
import hashlib, sqlite3, sys
rows = int(sys.argv[1])
base = sqlite3.connect('base.db')
base.execute('pragma synchronous = off')
base.executescript('create table item (id integer primary key, key text, value real, note blob); create table link (a integer, b integer)')
def numbers(seed, count):
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        yield seed
base.executemany('insert into item values (?, ?, ?, ?)', ((i, f'key {n % 5000}', n / 7, b'x' * (n % 90)) for i, n in enumerate(numbers(1, rows))))
base.executemany('insert into link values (?, ?)', ((n % rows, n // 7 % rows) for n in numbers(2, 2 * rows)))
base.commit()
base.executescript('create index by_key on item (key, value); create index by_a on link (a); analyze')
base.create_function('weigh', 2, lambda text, value: len(text) + int(value) % 10)
for query in (
    'select count(*), sum(weigh(key, value)), total(length(note)) from item',
    'select key, count(*), max(value) from item group by key order by 2 desc, key limit 20',
    'select count(*) from link join item on item.id = link.b where link.a in (select id from item where value > 1e8)',
    "with recursive walk(id, depth) as (select 1, 0 union select b, depth + 1 from link join walk on a = walk.id where depth < 6) select count(*), max(depth) from walk",
    "update item set value = value + 1, key = upper(key) where id % 3 = 0", "delete from link where a % 5 = 0",
    'select group_concat(key) from (select key from item order by value limit 50)', 'vacuum', 'pragma integrity_check',
):
    print(query[:40], base.execute(query).fetchall())
    base.commit()
base.close()
print(hashlib.sha256(open('base.db', 'rb').read()).hexdigest())
"""


def sqlite_of(rows):
    """Tables, joins, indexes and functions of a database, and its file."""
    def run(world):
        script = world.work / "base.py"
        script.write_text(SQLITE)
        ended = world.run("python3.11", script, rows, seconds=600)
        return {"exit code": ended.code, "stderr": ended.err,
                **{f"{number}": line for number, line in enumerate(ended.out.decode().splitlines())}}
    return run


EXCEPTIONS = """
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
struct Guard {
  explicit Guard(long& count) : count(count) {}
  ~Guard() { ++count; }
  long& count;
};
struct Odd : std::runtime_error { using runtime_error::runtime_error; };
__attribute__((noinline)) void fall(int depth, long number, long& count) {
  const Guard guard(count);
  const std::string text(number % 50, 'x');
  if (depth == 0) {
    if (number % 3 == 0) throw number;
    if (number % 3 == 1) throw Odd(text);
    throw std::out_of_range(std::to_string(number));
  }
  fall(depth - 1, number, count);
}
__attribute__((noinline)) long catch_it(long number, long& count) {
  try {
    try {
      fall(number % 12, number, count);
    } catch (const Odd& odd) {
      const Guard guard(count);
      std::throw_with_nested(std::logic_error(odd.what()));
    }
  } catch (long value) {
    return value;
  } catch (const std::logic_error& error) {
    try {
      std::rethrow_if_nested(error);
    } catch (const std::runtime_error& inner) {
      return static_cast<long>(std::string(inner.what()).size());
    }
    return std::atol(error.what());
  }
  return -1;
}
int main(int, char** arguments) {
  const long rounds = std::atol(arguments[1]);
  std::vector<std::future<std::pair<unsigned long, long>>> all;
  for (long thread = 0; thread < 4; ++thread) {
    all.push_back(std::async(std::launch::async, [=] {
      unsigned long sum = 0;
      long count = 0;
      for (long round = 0; round < rounds; ++round) sum = sum * 31 + catch_it(round * 4 + thread, count);
      return std::pair(sum, count);
    }));
  }
  for (auto& each : all) {
    const auto [sum, count] = each.get();
    std::printf("%lu %ld\\n", sum, count);
  }
  std::future<int> broken = std::async(std::launch::async, []() -> int { throw Odd("in another thread"); });
  try {
    broken.get();
  } catch (const Odd& odd) {
    std::puts(odd.what());
  }
  std::set_terminate([] { std::puts("terminate"); std::fflush(stdout); std::abort(); });
  std::thread([] { throw 1; }).join();
}
"""


def exceptions_of(rounds):
    """A C++ program with exceptions of several types through destructors, in threads, up to std::terminate."""
    def run(world):
        (world.work / "throwing.cc").write_text(EXCEPTIONS)
        subprocess.run(["c++", "-std=c++17", "-O1", "-pthread", "-Wl,--build-id", "-o", "throwing", "throwing.cc"], cwd=world.work, check=True)
        ended = world.run(world.work / "throwing", rounds, seconds=600)
        return {"throwing": (ended.code, ended.out, ended.err)}
    return run


NODE = """
const http = require('http'), { Worker, isMainThread, parentPort } = require('worker_threads');
const { createHash } = require('crypto'), { execFile } = require('child_process'), zlib = require('zlib');
if (!isMainThread) { parentPort.on('message', n => { let h = createHash('sha256'); for (let i = 0; i < n; i++) h.update('' + i); parentPort.postMessage(h.digest('hex')); }); }
else {
  const worker = new Worker(__filename), waiting = [];
  worker.on('message', text => waiting.shift()(text));
  const server = http.createServer((request, response) => {
    const n = Number(request.url.slice(1));
    if (n % 50 == 0) execFile('sh', ['-c', `echo ${n}`], (error, out) => response.end(error ? 'error' : out));
    else if (n % 10 == 0) { waiting.push(text => response.end(text)); worker.postMessage(1000 + n); }
    else if (n % 3 == 0) zlib.gzip('x'.repeat(n * 10), (error, data) => response.end(data));
    else setTimeout(() => response.end('y'.repeat(n)), n % 4);
  }).listen(0, '127.0.0.1', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 }), port = server.address().port;
    const get = n => new Promise(resolve => http.get({ port, agent, path: '/' + n, host: '127.0.0.1' }, response => {
      const hash = createHash('sha256'); response.on('data', data => hash.update(data));
      response.on('end', () => resolve(`${n} ${response.statusCode} ${hash.digest('hex')}`)); }).on('error', error => resolve(`${n} ${error}`)));
    const all = await Promise.all(Array.from({ length: Number(process.argv[2]) }, (_, n) => get(n)));
    console.log(all.join('\\n')); agent.destroy(); await worker.terminate(); server.close();
  });
}
"""


def node(world):
    """An HTTP server and its client in one, with timers, a worker thread, children, the thread pool."""
    script = world.work / "server.js"
    script.write_text(NODE)
    ended = world.run("node", script, 3000)
    return {"exit code": ended.code, "stderr": ended.err,
            **{f"request {line.split()[0]}": line for line in ended.out.decode().splitlines()}}


JAVA = """
import java.util.*; import java.util.concurrent.*; import java.util.stream.*; import java.lang.management.*;
public class Soak {
  static long churn(int seed) {
    Map<Integer, List<byte[]>> live = new HashMap<>(); long sum = 0; Random random = new Random(seed);
    for (int i = 0; i < 60000; i++) {
      byte[] data = new byte[64 + random.nextInt(2000)]; data[i % 64] = (byte) i; sum = sum * 31 + data.length;
      live.computeIfAbsent(random.nextInt(500), k -> new LinkedList<>()).add(data);
      if (i % 7 == 0) live.remove(random.nextInt(500));
      if (i % 1000 == 0) try { Thread.sleep(1); throw new IllegalStateException(); } catch (IllegalStateException | InterruptedException e) { sum++; }
    }
    return sum;
  }
  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4); List<Future<Long>> results = new ArrayList<>();
    for (int i = 0; i < 24; i++) { int seed = i; results.add(pool.submit(() -> churn(seed))); }
    for (Future<Long> result : results) System.out.println(result.get());
    pool.shutdown(); System.out.println(pool.awaitTermination(1, TimeUnit.MINUTES));
    System.out.println(IntStream.range(0, 200000).parallel().mapToLong(i -> (long) i * i).sum());
    Process child = new ProcessBuilder("sh", "-c", "exit 7").start(); System.out.println(child.waitFor());
    long collected = 0; for (var bean : ManagementFactory.getGarbageCollectorMXBeans()) collected += bean.getCollectionCount();
    System.out.println(collected > 5);
    try { deep(0); } catch (StackOverflowError error) { System.out.println("overflow"); }
    String none = null; try { none.length(); } catch (NullPointerException error) { System.out.println("null"); }
  }
  static int deep(int n) { return deep(n + 1) + 1; }
}
"""


def java(world):
    """A virtual machine that collects garbage, compiles, takes faults of its own and ends by SIGTERM."""
    (world.work / "Soak.java").write_text(JAVA)
    results = {}
    for collector in ("SerialGC", "G1GC"):
        ended = world.run("java", "-Xmx64m", f"-XX:+Use{collector}", "Soak.java", seconds=300)
        results[collector] = (ended.code, ended.out, ended.err)
    return results

