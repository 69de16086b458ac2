import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { Page } from 'playwright-core';
import type { BooksDocument } from '../../services/console/src/http/trader-books.ts';
import { CONTENT_SECURITY_POLICY, readStaticFiles } from '../../services/console/src/web/static-files.ts';
import { type Browser, startBus, startTestConsole } from '../../services/console/testing/console.ts';
import {
  accessibilityFaults,
  closeBrowser,
  needsChromium,
  openBrowser,
  openWhole,
  overflow,
  watchFaults,
} from '../../services/console/testing/web/browser.ts';
import { until } from '../support/fleet.ts';
import {
  CONCERN,
  decide,
  GRID,
  type LoneTrader,
  startTrader,
  strategyOf,
  TREND,
} from '../support/lone-trader.ts';

after(closeBrowser);

// biome-ignore lint/suspicious/noExplicitAny: the tests are about what an answer has
type Body = any;

const BARS = 120;

/** Bars that rise and fall, so that a grid buys and sells; they end, so that the figures come to rest. */
function barsFile(t: TestContext): string {
  const rows = Array.from({ length: BARS }, (_, n) => {
    const close = (at: number): number => 2 + 0.06 * Math.sin(at / 4);
    const [open, end] = [close(n), close(n + 1)];
    const [high, low] = [Math.max(open, end), Math.min(open, end)].map((price) => price.toFixed(4));
    const at = new Date(Date.UTC(2026, 0, 1) + n * 100).toISOString();
    return [at, open.toFixed(4), high, low, end.toFixed(4), '1000'].join();
  });
  const file = join(tempDir(t), 'bars.csv');
  writeFileSync(file, ['time,open,high,low,close,volume', ...rows].join('\n'));
  return file;
}

const get = async (trader: LoneTrader, path: string): Promise<Response> =>
  await fetch(`${trader.url}${path}`, { headers: { authorization: `Bearer ${trader.token}` } });
const barsOf = async (trader: LoneTrader): Promise<number> =>
  ((await (await get(trader, '/books/performance')).json()) as Body).total.bars;

/** A trader that has traded its bars to the end, with a switch on the way, and a console beside it. */
async function traded(t: TestContext) {
  const bus = await startBus(t);
  const file = barsFile(t);
  const trader = await startTrader(t, {
    natsUrl: bus.url,
    change: ({ concerns, strategies }) => {
      concerns[0].feed = { kind: 'csv', file, interval_s: 0.1 };
      strategies[0].params = { levels: 5, spacing_bps: 50, order_share: '0.05', centre_bars: 3 };
    },
  });
  const console = await startTestConsole(t, {
    nats: bus,
    web: { files: readStaticFiles(), policy: CONTENT_SECURITY_POLICY },
    config: { profiles: { trader: { url: trader.url } }, entry: 'trader' },
  });
  await until(async () => (await barsOf(trader)) >= 40, 'forty bars');
  const target = { target_strategy_id: TREND, expected_active_strategy_id: GRID };
  assert.equal(
    (await decide(trader, { action: 'switch', decision_id: 'to-trend', ...target })).status,
    'applied',
  );
  await until(async () => (await barsOf(trader)) >= 50, 'ten more');
  const back = { target_strategy_id: GRID, expected_active_strategy_id: TREND };
  assert.equal(
    (await decide(trader, { action: 'switch', decision_id: 'to-grid', ...back })).status,
    'applied',
  );
  await until(async () => (await barsOf(trader)) === BARS, 'all bars');
  return { trader, console };
}

const books = async (browser: Browser): Promise<BooksDocument> => await browser.json('/api/trader/books');
const share = (value: number): string => `${(value * 100).toFixed(2)}%`;

test('the console shows the books of a real trader as the trader answers them, and says when it is away', {
  ...needsChromium,
  timeout: 240_000,
}, async (t) => {
  const { trader, console } = await traded(t);
  const browser = await console.signIn();
  const performance: Body = await (await get(trader, '/books/performance')).json();
  const { fills }: Body = await (await get(trader, '/books/fills?limit=500')).json();
  assert.ok(fills.length >= 6, `${fills.length} fills`);

  await t.test('only a token with the scope reads them, and it stays in the console', async () => {
    assert.equal((await browser.get('/api/trader/books')).status, 403);
    assert.equal((await browser.get('/api/trader/books/fills.csv')).status, 403);
    await browser.send('POST', '/api/token', { token: trader.as('guest').token });
    const refused = await browser.get('/api/trader/books');
    assert.deepEqual([refused.status, ((await refused.json()) as Body).error.code], [403, 'FORBIDDEN']);
    await browser.send('POST', '/api/token', { token: trader.token });
    const text = await (await browser.get('/api/trader/books')).text();
    assert.doesNotMatch(text, /token-of/);
  });

  await t.test('figures, points, fills and decisions are those of the trader', async () => {
    const isApplied = ({ marks }: BooksDocument): boolean => marks.length === 2;
    const found = await console.until<BooksDocument>(browser, '/api/trader/books', isApplied);
    for (const [name, value] of Object.entries(found.total))
      assert.deepEqual(value, performance.total[name], name);
    assert.equal(found.measured_since, performance.since);
    assert.deepEqual(
      found.strategies.map(({ strategy_id, name, equity, fills: count }) => [
        strategy_id,
        name,
        equity,
        count,
      ]),
      performance.strategies.map((each: Body) => [
        each.strategy_id,
        each.strategy_id === GRID ? 'Grid around the mean' : 'Trend by crossing averages',
        each.equity,
        each.fills,
      ]),
    );
    assert.deepEqual(
      found.points.map(({ recorded_at, close, equity }) => [recorded_at, close, equity]),
      performance.equity.map((each: Body) => [each.recorded_at, each.close, each.equity]),
    );
    // The points are all bars, so the drawdown of the points is that of the trader.
    assert.ok(
      Math.abs(Math.max(...found.points.map(({ drawdown }) => drawdown)) - found.total.max_drawdown) < 1e-7,
    );
    assert.deepEqual(
      found.fills.map(({ entry, side, price, fee, realized_profit }) => [
        entry,
        side,
        price,
        fee,
        realized_profit,
      ]),
      fills.map((each: Body) => [
        each.entry,
        each.side,
        each.fill_price,
        each.fee,
        each.realized_pnl ?? null,
      ]),
    );
    assert.deepEqual(
      found.decisions.map(({ decision_id, action, caller, name }) => [decision_id, action, caller, name]),
      [
        ['to-grid', 'switch', 'operator', 'Grid around the mean'],
        ['to-trend', 'switch', 'operator', 'Trend by crossing averages'],
        [null, null, null, 'Grid around the mean'],
      ],
    );
    assert.deepEqual(
      found.marks.map(({ decision_id }) => decision_id),
      ['to-grid', 'to-trend'],
    );
    const times = [...found.points.map(({ recorded_at }) => recorded_at)];
    assert.deepEqual(times, times.toSorted());
    assert.ok(found.marks.every(({ at }) => at > (times[0] ?? '') && at < (times.at(-1) ?? '')));
  });

  await t.test('the exports are those of the trader', async () => {
    for (const [file, path] of [
      ['orders.csv', '/books/orders?format=csv&order=oldest&limit=1000'],
      ['fills.csv', '/books/fills?format=csv&order=oldest&limit=1000'],
      ['equity.csv', '/books/performance?format=csv&points=1000'],
    ] as const) {
      const download = await browser.get(`/api/trader/books/${file}?concern_id=${CONCERN}`);
      assert.equal(await download.text(), await (await get(trader, path)).text(), file);
      assert.equal(download.headers.get('content-disposition'), `attachment; filename="${file}"`);
    }
    assert.equal((await browser.get('/api/trader/books/audit.csv')).status, 404);
    assert.equal((await browser.get('/api/trader/books?concern_id=other')).status, 400);
  });

  await t.test('get_strategy has the summary', async () => {
    const { performance: summary } = await strategyOf(trader, GRID);
    const own = performance.strategies.find((each: Body) => each.strategy_id === GRID);
    assert.deepEqual(
      [summary.account.return, summary.account.max_drawdown, summary.strategy.return, summary.strategy.fills],
      [performance.total.return, performance.total.max_drawdown, own.return, own.fills],
    );
  });

  const context = await (await openBrowser()).newContext({ viewport: { width: 1280, height: 900 } });
  t.after(() => context.close());
  const page: Page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults = watchFaults(page);
  const figure = (name: string) =>
    page
      .locator('.books-figures .figure', { has: page.getByText(name, { exact: true }) })
      .locator('.figure-value');

  await t.test('the page has the figures and a mark for each fill and decision', async () => {
    await openWhole(page, `${console.url}/login?code=${await console.newCode()}`);
    await page.getByRole('link', { name: 'Trader', exact: true }).click();
    await page.getByRole('button', { name: 'Show them with my token' }).click();
    await page.getByRole('dialog').getByLabel('Token').fill(trader.token);
    await page.keyboard.press('Enter');
    await page.locator('.marks .mark-decision').first().waitFor();
    const { total } = performance;
    for (const [name, text] of [
      ['Return', share(total.return)],
      ['Max drawdown', share(total.max_drawdown)],
      ['Sharpe', total.sharpe.toFixed(2)],
      ['Win rate', share(total.win_rate)],
    ])
      assert.equal(await figure(name).textContent(), text, name);
    for (const [name, text] of [
      ['Realized profit', total.realized_profit],
      ['Fees', total.fees],
    ])
      assert.equal(await figure(name).locator('span').getAttribute('title'), text, name);
    const marks = (kind: string) => page.locator(`.marks .mark-${kind}`).count();
    const made = await books(browser);
    const ofSide = (side: string): number => made.fills.filter((fill) => fill.side === side).length;
    assert.deepEqual(
      [await marks('buy'), await marks('sell'), await marks('decision')],
      [ofSide('buy'), ofSide('sell'), 2],
    );
    await page.getByRole('row', { name: /^switch: Trend by crossing averages by operator/ }).waitFor();
  });

  await t.test('a decision appears on the page without a reload', async () => {
    const decided = await decide(trader, {
      action: 'set_risk_mode',
      risk_mode: 'cautious',
      decision_id: 'careful',
    });
    assert.equal(decided.status, 'applied');
    await page.locator('.marks .mark-decision').nth(2).waitFor();
    const titles = await page.locator('.marks .mark-decision title').allTextContents();
    assert.ok(
      titles.some((title) => title.startsWith('set risk mode by operator, ')),
      titles.join(),
    );
  });

  await t.test('axe-core finds nothing, light and dark, wide and narrow', async () => {
    for (const width of [1280, 390])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 860 });
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await accessibilityFaults(page), [], `${width} ${colorScheme}`);
        assert.equal(await overflow(page), 0);
      }
  });

  await t.test('a trader that is away is named, and its return is shown without a reload', async () => {
    await trader.kill();
    await page.getByRole('alert').getByText('trader does not answer').waitFor({ timeout: 60_000 });
    assert.equal(await figure('Fees').locator('span').getAttribute('title'), performance.total.fees);
    await page.getByRole('heading', { name: 'Newest decisions' }).waitFor();
    await trader.start();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    assert.equal(await figure('Return').textContent(), share(performance.total.return));
  });
  assert.deepEqual(faults, []);
});
