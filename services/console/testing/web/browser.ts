import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { chromiumProgram, launchChromium, NO_CHROMIUM } from './chromium.ts';
import { type StubConsole, startStubConsole } from './stub-console.ts';

/** The options of a test that needs the browser: it is skipped, with what to do, where there is none. */
export const needsChromium = {
  skip: chromiumProgram() === undefined && NO_CHROMIUM,
  timeout: 120_000,
};

export interface OpenedPage {
  readonly page: Page;
  readonly stub: StubConsole;
  /** Errors of the console of the browser, faults of scripts, and violations of the policy. */
  readonly faults: string[];
}

export interface OpenOptions {
  readonly at?: string;
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
  /** Changes what the stub answers before the page opens. */
  readonly prepare?: (stub: StubConsole) => void;
  readonly rewrite?: Parameters<typeof startStubConsole>[0];
}

let shared: Promise<Browser> | undefined;

/** One browser for the tests of a file. */
export function openBrowser(): Promise<Browser> {
  shared ??= launchChromium();
  return shared;
}

/** Closes it; for `after` of a file. */
export async function closeBrowser(): Promise<void> {
  await (await shared)?.close();
  shared = undefined;
}

/** Opens the page over a stub of the console. Both are closed with the test. */
export async function openPage(t: TestContext, options: OpenOptions = {}): Promise<OpenedPage> {
  const { at = '/', width = 1280, theme = 'light', prepare, rewrite } = options;
  const stub = await startStubConsole(rewrite);
  prepare?.(stub);
  const browser = await openBrowser();
  const context = await browser.newContext({
    viewport: { width, height: 860 },
    colorScheme: theme,
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  t.after(async () => {
    await context.close();
    await stub.stop();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const faults = watchFaults(page);
  await openWhole(page, `${stub.url}${at}`);
  return { page, stub, faults };
}

/**
 * Chromium gives up requests that are under way when a network interface of the machine comes or goes, as others make them
 * for containers. That is no fault of the page, and the page is loaded again.
 */
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED';

/** Opens an address, and loads the page again if its requests were given up. */
export async function openWhole(page: Page, url: string): Promise<void> {
  let isPartial = false;
  page.on('requestfailed', (request) => {
    isPartial ||= request.failure()?.errorText === NETWORK_CHANGED;
  });
  await page.goto(url);
  for (let left = 5; isPartial && left > 0; left -= 1) {
    isPartial = false;
    await page.reload();
  }
}

/** Collects what goes wrong in the page. An answer of the API that is an error is no fault of the page. */
export function watchFaults(page: Page): string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (/^Failed to load resource/.test(message.text()) && message.location().url.includes('/api/')) return;
    if (message.text().includes(NETWORK_CHANGED)) return;
    faults.push(message.text());
  });
  return faults;
}

/** By how much the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate<number>('document.body.scrollWidth - document.body.clientWidth');

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe-core finds, one line each: rule, element and why. Empty when all is well. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // By the protocol of the browser, because the policy of the page allows no inline script.
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const { violations } = await page.evaluate<AxeAnswer>('axe.run(document)');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** What `axe.run` answers. */
interface AxeAnswer {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}
