// What memory `swipr view --live` and its page have, minute by minute, while stacks never repeat.
// usage: node bench/live_memory.mjs [BUILD] [MINUTES] [PROGRAM [ARG…]]     (build/release, 11, wanderer)
// Needs the targets (tests/targets) and the readers (npm ci --prefix tests/readers). Prints a row of JSON a minute.
import fs from 'node:fs';
import { open_live_page } from './live_page.mjs';

const [build = 'build/release', minutes = '11', program, ...args] = process.argv.slice(2);
const memory_of = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

const { target, server, browser, page, end } = await open_live_page(build, program ?? `${build}/tests/targets/wanderer_nofp`, args);
try {
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
  await end();
}
