// The page of `swipr view --live` names deadlocks of the program, and none where there is none.
// A screenshot is left in the folder.
// usage: live_deadlocks.mjs FOLDER SWIPR PRELOAD PROGRAM       (PROGRAM: tests/targets/times/deadlock.cc)
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { launch_browser } from './browser.mjs';

const [folder, swipr, preload, program] = process.argv.slice(2);
if (!program) assert.fail('usage: live_deadlocks.mjs FOLDER SWIPR PRELOAD PROGRAM');
const runtime = fs.mkdtempSync('/tmp/swipr-live-');
const env = { ...process.env, SWIPR_SOCKET_DIR: runtime, DISPLAY: '', WAYLAND_DISPLAY: '' };
const first_line = (stream) => new Promise((resolve) => readline.createInterface({ input: stream }).once('line', resolve));

// What the locks pane says of a program that runs with these arguments, when `text` is in it.
async function locks_of(browser, args, text, screenshot) {
  const target = spawn(program, args, { env: { ...env, LD_PRELOAD: preload }, stdio: ['pipe', 'pipe', 'inherit'] });
  let server;
  try {
    assert.equal(await first_line(target.stdout), 'ready');
    server = spawn(swipr, ['view', '--live', '--pid', String(target.pid)], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const page = await browser.newPage({ viewport: { width: 1280, height: 500 } });
    const problems = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(await first_line(server.stdout));
    await page.waitForSelector('html[data-ready]', { state: 'attached' });
    await page.click('#panes [value=locks]');
    await page.waitForFunction((wanted) => document.querySelector('#locks').innerText.includes(wanted), text, { timeout: 150_000 });
    await page.screenshot({ path: path.join(folder, screenshot) });
    const said = await page.innerText('#locks');
    assert.deepEqual(problems, []);
    await page.close();
    return said;
  } finally {
    target.kill('SIGKILL');
    server?.kill('SIGKILL');
  }
}

const browser = await launch_browser();
try {
  const cycle = await locks_of(browser, ['cycle', '2'], 'deadlock: ', 'live-deadlock.png');
  assert.match(cycle, /^deadlock: worker-1 \d+ waits for the mutex \S+ \S+ in want_next, held by worker-2 \d+, which waits for the mutex \S+ \S+ in want_next, held by worker-1 \d+ \(for [\d.]+ \w+\)$/m);
  console.log('live: a deadlock is named');
  const timed = await locks_of(browser, ['timed', '2'], 'in want_next_today', 'live-no-deadlock.png');
  assert.doesNotMatch(timed, /deadlock:/);
  console.log('live: waits that end by themselves are none');
} finally {
  await browser.close();
  fs.rmSync(runtime, { recursive: true });
}
