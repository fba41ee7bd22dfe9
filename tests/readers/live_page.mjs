// A program with the preload, `swipr view --live` of it, and pages in headless chromium, for tests.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { launch_browser } from './browser.mjs';

const DEADLINE_MS = 150_000;

const first_line = (stream) => new Promise((resolve) => readline.createInterface({ input: stream }).once('line', resolve));
const end_of = (child) => new Promise((resolve) => child.on('exit', (code) => resolve(code)));

// `program` and its arguments; `latency`: functions to trace.  Screenshots are left in the folder.
export async function follow({ folder, swipr, preload, program, latency }) {
  const runtime = fs.mkdtempSync('/tmp/swipr-live-');
  const env = { ...process.env, SWIPR_SOCKET_DIR: runtime, DISPLAY: '', WAYLAND_DISPLAY: '' };
  const target = spawn(program[0], program.slice(1), { env: { ...env, LD_PRELOAD: preload }, stdio: ['pipe', 'pipe', 'inherit'] });
  assert.equal(await first_line(target.stdout), 'ready');
  const server = spawn(swipr, ['view', '--live', '--pid', String(target.pid), ...latency.flatMap((name) => ['--latency', name])],
                       { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  readline.createInterface({ input: server.stderr }).on('line', (line) => said.push(line));
  const ended = end_of(server);
  const url = await Promise.race([first_line(server.stdout), ended.then((code) => assert.fail(`view ended with ${code}: ${said.join('\n')}`))]);
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
  const browser = await launch_browser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  context.setDefaultTimeout(DEADLINE_MS);
  return {
    target, server, said, ended, url,

    // A page that must not print errors nor ask anybody else for anything.
    async open({ dark = false, width = 1280, fragment = '' } = {}) {
      const page = await context.newPage();
      await page.setViewportSize({ width, height: 860 });
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
      page.problems = [];
      page.on('pageerror', (error) => page.problems.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && page.problems.push(message.text()));
      page.on('request', (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(url) || page.problems.push(request.url()));
      await page.goto(url + fragment);
      await page.waitForSelector('html[data-ready]', { state: 'attached' });
      return page;
    },

    async close(page, screenshot) {
      await page.screenshot({ path: path.join(folder, screenshot) });
      assert.deepEqual(page.problems, []);
      await page.close();
    },

    async end() {
      await browser.close();
      target.kill('SIGKILL');
      server.kill('SIGKILL');
      fs.rmSync(runtime, { recursive: true });
    },
  };
}

// [self, total, name] of the functions that the page shows, or [self, total, change, name].
export const functions_of = (page) => page.$$eval('#functions tbody tr', (all) => all.map((row) =>
  [...row.cells].filter((cell) => !cell.classList.contains('trend')).map((cell) => cell.innerText)));

export async function wait_for_text(page, selector, text) {
  await page.waitForFunction(([where, wanted]) => document.querySelector(where)?.innerText.includes(wanted), [selector, text]);
}

export const painted = (page) => page.evaluate(() => Number(document.documentElement.dataset.painted));

export async function wait_for_paints(page, count) {
  const before = await painted(page);
  await page.waitForFunction((wanted) => Number(document.documentElement.dataset.painted) >= wanted, before + count);
}

// The first test, which makes what the others look at, and half of the others, drawn by the commit
// (tests/support/sampling.py); all of them in runs by hand.
function drawn(tests) {
  const seed = process.env.SWIPR_SAMPLE_SEED;
  const is_drawn = (test) => createHash('sha256').update(`${seed} ${test.name}`).digest()[7] % 2 === 0;
  return tests.filter((test, at) => !seed || at === 0 || is_drawn(test));
}

export async function run_tests(name, tests, end) {
  try {
    for (const test of drawn(tests)) {
      await test();
      console.log(`${name}: ${test.name.replaceAll('_', ' ')}`);
    }
  } finally {
    await end();
  }
}
