// What `swipr view --live` costs, and how soon its page shows that a program does something else.
// usage: node bench/live_bench.mjs [BUILD] [THREADS] [CHANGES]     (build/release, 200, 10)
// Needs the targets (tests/targets) and the readers (npm ci --prefix tests/readers). Prints JSON.
import fs from 'node:fs';
import { open_live_page } from './live_page.mjs';

const [build = 'build/release', threads = '200', changes = '10'] = process.argv.slice(2);
const WINDOW_MS = 11_000;  // after it, the window of 10 s has forgotten the phase before
const TICKS_PER_SECOND = 100;  // of /proc/PID/stat

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// CPU time in seconds, memory in MiB.
function usage_of(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const memory = /VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1];
  return { cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND, memory: Number(memory) / 1024 };
}

const { target, server, page, end } = await open_live_page(build, `${build}/tests/targets/phases_nofp`, [String(Number(threads) - 4)]);
try {
  await page.click('#functions th button[value=total]');
  await sleep(WINDOW_MS);
  const before = { at: Date.now(), ...usage_of(server.pid) };
  const delays = [];
  for (let change = 0; change < Number(changes); ++change) {
    const wanted = change % 2 === 0 ? 'phase_two' : 'phase_one';
    const begin = Date.now();
    target.stdin.write('\n');
    const seen = await page.evaluate((name) => new Promise((resolve) => {
      const look = () => [...document.querySelectorAll('#functions tbody tr')].some((row) => row.innerText.endsWith(name) &&
        parseFloat(row.cells[1].innerText) > 0) ? resolve(Date.now()) : requestAnimationFrame(look);
      look();
    }), wanted);
    delays.push(seen - begin);
    await sleep(WINDOW_MS);
  }
  const totals = Object.fromEntries(await page.$$eval('#totals div', (all) =>
    all.map((fact) => [fact.children[0].textContent, Number(fact.children[1].textContent.replaceAll(',', ''))])));
  const after = { at: Date.now(), ...usage_of(server.pid) };
  const [first] = delays;  // its function had no name before
  delays.sort((a, b) => a - b);
  console.log(JSON.stringify({
    threads: Number(threads), load: Number(fs.readFileSync('/proc/loadavg', 'utf8').split(' ')[0]),
    samples_a_second: Math.round(totals.samples / 10), dropped: totals.dropped,
    cli_cpu_percent: +(100_000 * (after.cpu - before.cpu) / (after.at - before.at)).toFixed(2),
    cli_memory_mib: +after.memory.toFixed(1), grown_mib: +(after.memory - before.memory).toFixed(1),
    change_ms: { first, least: delays[0], median: delays[delays.length >> 1], most: delays.at(-1) },
  }));
} finally {
  await end();
}
