// What memory `swipr view --live` and its page have, minute by minute, while stacks never repeat.
// usage: node bench/live_memory.mjs [BUILD] [MINUTES] [PROGRAM [ARG…]]     (build/release, 11, wanderer)
// Needs the targets (tests/targets) and the readers (npm ci --prefix tests/readers). Prints a row of JSON a minute.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { launch_browser } from '../tests/readers/browser.mjs';

const [build = 'build/release', minutes = '11', program, ...args] = process.argv.slice(2);
const file = (name) => path.resolve(build, name);
const runtime = fs.mkdtempSync('/tmp/swipr-live-memory-');
const env = { ...process.env, SWIPR_SOCKET_DIR: runtime, DISPLAY: '', WAYLAND_DISPLAY: '' };
const first_line = (stream) => new Promise((resolve) => readline.createInterface({ input: stream }).once('line', resolve));
const memory_of = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

const target = spawn(program ?? file('tests/targets/wanderer_nofp'), args, {
  env: { ...env, LD_PRELOAD: file('preload/libswipr_preload.so') }, stdio: ['pipe', 'pipe', 'inherit'] });
await first_line(target.stdout);
const server = spawn(file('cli/swipr'), ['view', '--live', '--pid', String(target.pid)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
const url = await first_line(server.stdout);
const browser = await launch_browser();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.goto(url);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  const renderers = async () => (await (await browser.newBrowserCDPSession()).send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === 'renderer');
  const painted = () => page.evaluate(() => Number(document.documentElement.dataset.painted));
  let before = await painted();
  for (let minute = 1; minute <= Number(minutes); ++minute) {
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    await cdp.send('HeapProfiler.collectGarbage');
    const { metrics } = await cdp.send('Performance.getMetrics');
    const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize').value;
    const pages = (await renderers()).map(({ id }) => memory_of(id));
    const now = await painted();
    console.log(JSON.stringify({
      minute, cli_mib: Math.round(memory_of(server.pid)), page_heap_mib: Math.round(heap / 2 ** 20),
      page_process_mib: Math.round(Math.max(...pages)), paints_a_second: +((now - before) / 60).toFixed(2),
      program_mib: Math.round(memory_of(target.pid)),
    }));
    before = now;
  }
} finally {
  await browser.close();
  server.kill('SIGKILL');
  target.kill('SIGKILL');
  fs.rmSync(runtime, { recursive: true });
}
