import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser, openWhole, watchFaults } from '../../services/console/testing/web/browser.ts';

/** A restart of a process, and what follows of it in the page. */
const RESTART_MS = 60_000;

/** Opens the console of a fleet by a link to it, in Chromium; `faults` collects what goes wrong in the page. */
export async function openConsole(t: TestContext, link: string): Promise<{ page: Page; faults: string[] }> {
  const context = await (await openBrowser()).newContext({ viewport: { width: 1440, height: 900 } });
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(RESTART_MS);
  const faults = watchFaults(page);
  await openWhole(page, link);
  return { page, faults };
}

/** Opens a view by its path, without loading the page again, and waits until it shows its data. */
export async function openView(page: Page, path: string): Promise<void> {
  await page.goto(new URL(`#/${path}`, page.url()).href);
  await page.locator('main h1').waitFor();
  await page.locator('.skeleton').waitFor({ state: 'detached' });
}
