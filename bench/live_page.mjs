// A program with the preload, `swipr view --live` of it, and its page in headless Chromium, for benchmarks.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { launch_browser } from '../tests/readers/browser.mjs';

const first_line = (stream) => new Promise((resolve) => readline.createInterface({ input: stream }).once('line', resolve));

// The program says a line when it is ready.
// Returns both processes, the browser, the page, and end(), which ends all of them.
export async function open_live_page(build, program, args) {
  const file = (name) => path.resolve(build, name);
  const runtime = fs.mkdtempSync('/tmp/swipr-live-bench-');
  const env = { ...process.env, SWIPR_SOCKET_DIR: runtime, DISPLAY: '', WAYLAND_DISPLAY: '' };
  const target = spawn(program, args, {
    env: { ...env, LD_PRELOAD: file('preload/libswipr_preload.so') }, stdio: ['pipe', 'pipe', 'inherit'] });
  await first_line(target.stdout);
  const server = spawn(file('cli/swipr'), ['view', '--live', '--pid', String(target.pid)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await first_line(server.stdout);
  const browser = await launch_browser();
  const end = async () => {
    await browser.close();
    server.kill('SIGKILL');
    target.kill('SIGKILL');
    fs.rmSync(runtime, { recursive: true });
  };
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    await page.goto(url);
    return { target, server, browser, page, end };
  } catch (error) {
    await end();
    throw error;
  }
}
