// Headless chromium, with nothing that talks to the network by itself.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

export async function launch_browser() {
  if (!existsSync(CHROMIUM)) throw new Error(`no ${CHROMIUM}: run scripts/install_dependencies test`);
  const { chromium } = createRequire(import.meta.url)('playwright-core');
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking',
           '--disable-component-update', '--disable-sync', '--no-first-run'],
  });
}
