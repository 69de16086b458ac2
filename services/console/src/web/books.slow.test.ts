import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, needsChromium, openPage, overflow } from '../../testing/web/browser.ts';
import type { StubConsole } from '../../testing/web/stub-console.ts';
import { TOKEN } from '../../testing/web/stub-console.ts';
import { MARKUP } from '../../testing/web/tasks-fixture.ts';
import type { BooksDocument } from '../http/trader-books.ts';

after(closeBrowser);

const signedIn = ({ state }: StubConsole): unknown => Object.assign(state, { caller: 'operator' });
const booksOf = ({ state }: StubConsole): BooksDocument =>
  state.documents['/api/trader/books'] as BooksDocument;
const figure = (page: Page, name: string) =>
  page
    .locator('.books-figures .figure', { has: page.getByText(name, { exact: true }) })
    .locator('.figure-value');

test('the books come with a token, and the rest of the page before', needsChromium, async (t) => {
  const { page, stub, faults } = await openPage(t, { at: '/#/trader' });
  await page.getByText('Why decisions were refused').waitFor();
  assert.equal(stub.read.filter((path) => path.startsWith('/api/trader/books')).length, 0);
  await page.getByRole('button', { name: 'Show them with my token' }).click();
  await page.getByRole('dialog').getByLabel('Token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('figure', { name: 'Price with fills and decisions' }).waitFor();
  const shown = ['Return', 'Max drawdown', 'Sharpe', 'Sortino', 'Win rate', 'Profit factor'];
  assert.deepEqual(await Promise.all(shown.map((name) => figure(page, name).textContent())), [
    ...['2.35%', '4.56%', '1.23', '2.35', '65.00%', '1.88'],
  ]);
  assert.equal(await figure(page, 'Realized profit').locator('span').getAttribute('title'), '312.3456789');
  assert.equal(await figure(page, 'Fees').textContent(), '41.20');
  assert.equal(faults.join('\n'), '');
});

test('fills and decisions are marked on the price, with who decided', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, { at: '/#/trader', prepare: signedIn });
  const marks = page.locator('.marks');
  await marks.locator('.mark-decision').first().waitFor();
  const count = (kind: string) => marks.locator(`.mark-${kind}`).count();
  assert.deepEqual([await count('buy'), await count('sell'), await count('decision')], [5, 5, 3]);
  const titles = await marks.locator('.mark-decision title').allTextContents();
  assert.match(titles[1] ?? '', /^switch by <img/);
  assert.match(
    (await marks.locator('.mark-buy title').first().textContent()) ?? '',
    /^buy 238\.0952 at [12]\.\d+ by /,
  );
  // A mark is where its time and its price are: the last fill is one point of 120 before the right edge.
  const box =
    (await page.locator('.chart .u-over').first().boundingBox()) ?? assert.fail('there is no chart');
  const last = (await marks.locator('.mark-sell').first().boundingBox()) ?? assert.fail('there is no mark');
  const middle = last.x + last.width / 2 - box.x;
  assert.ok(Math.abs(middle - (box.width * 118) / 119) < 2, `${middle} of ${box.width}`);
  assert.equal(booksOf(stub).fills[0]?.side, 'sell');
  assert.equal(await page.locator('main img').count(), 0);
});

test(
  'a table has what the charts show, and the legend the figure under the pointer',
  needsChromium,
  async (t) => {
    const { page, stub } = await openPage(t, { at: '/#/trader', prepare: signedIn });
    const chart = page.getByRole('figure', { name: 'Equity' });
    await chart.locator('.u-over').waitFor();
    await chart.locator('.u-over').scrollIntoViewIfNeeded();
    const box = (await chart.locator('.u-over').boundingBox()) ?? assert.fail('there is no chart');
    await page.mouse.move(box.x + (box.width * 60) / 119, box.y + 40);
    await chart.locator('.legend li.num', { hasText: ':' }).waitFor();
    const shown = await chart.locator('.legend .num').allTextContents();
    await page.locator('section[aria-labelledby=books]').getByText('As a table').click();
    const rows = page.getByRole('table', { name: 'Price, equity and drawdown' }).locator('tbody tr');
    const { points } = booksOf(stub);
    assert.equal(await rows.count(), points.length);
    const [time = '', close, equity, drawdown] = await rows.nth(60).locator('th, td').allTextContents();
    const [point] = points.slice(60);
    assert.deepEqual(
      [Number(close), drawdown],
      [Number(point?.close), `${((point?.drawdown ?? 0) * 100).toFixed(2)}%`],
    );
    assert.deepEqual(shown, [equity, time]);
  },
);

test('what each strategy and each decision did is in tables, with who decided', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: '/#/trader', prepare: signedIn });
  const strategies = page.getByRole('table', { name: 'Each strategy while it was active' });
  await strategies
    .getByRole('row', { name: /Grid around the mean/ })
    .getByText('234.57')
    .waitFor();
  await strategies.getByRole('row', { name: MARKUP }).getByText('–').waitFor();
  await strategies.getByRole('row', { name: 'no strategy' }).waitFor();
  const decisions = page.getByRole('table', { name: 'What each decision changed' });
  await decisions.getByRole('row', { name: `pause: ${MARKUP} by operator` }).waitFor();
  await decisions.getByRole('row', { name: /^forgotten: .*not in the events/ }).waitFor();
  await decisions.getByRole('row', { name: /^as configured: / }).waitFor();
  const fills = page.getByRole('table', { name: 'Last fills' });
  assert.equal(await fills.locator('tbody tr').count(), 10);
});

test('a trader that is away is named, and the rest of the page stays', needsChromium, async (t) => {
  const { page, stub, faults } = await openPage(t, {
    at: '/#/trader',
    prepare: (made) => {
      signedIn(made);
      made.state.booksFailWith = [502, 'PEER_UNREACHABLE', 'trader does not answer at http://trader:9223'];
    },
  });
  await page.getByRole('alert').getByText('trader does not answer').waitFor();
  await page.getByText('Why decisions were refused').waitFor();
  stub.state.booksFailWith = null;
  await page.getByRole('button', { name: 'Try again' }).click();
  await figure(page, 'Return').waitFor();
  stub.state.booksFailWith = [502, 'PEER_UNREACHABLE', 'trader does not answer at http://trader:9223'];
  stub.changed({ views: ['trader'] });
  await page.getByRole('alert').getByText('What you see below is what the console answered last.').waitFor();
  assert.equal(await figure(page, 'Return').textContent(), '2.35%');
  stub.state.booksFailWith = [403, 'TOKEN_NEEDED', 'trader does not accept this token'];
  stub.changed({ views: ['trader'] });
  await page.getByRole('button', { name: 'Show them with my token' }).waitFor();
  assert.equal(faults.join('\n'), '');
});

test('news appear without a reload, and move nothing', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, { at: '/#/trader', prepare: signedIn });
  await page.locator('.marks .mark-buy').first().waitFor();
  const places = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('section, .figure, .chart, .legend, main th, main td')].map((element) => {
        const { x, y, width, height } = element.getBoundingClientRect();
        return [x, y, width, height].map(Math.round).join();
      }),
    );
  const before = await places();
  const books = booksOf(stub);
  const more = { ...books.total, return: -0.12345678, fees: '123456.789', realized_profit: '-1234567.1' };
  stub.state.documents['/api/trader/books'] = {
    ...books,
    total: more,
    points: books.points.map((point) => ({ ...point, close: '12345.678901', equity: '1234567.8901' })),
  };
  stub.changed({ views: ['trader'] });
  await page.getByText('-12.35%').waitFor();
  assert.deepEqual(await places(), before);
});

test(
  'another account and market is chosen by the address, and the files follow it',
  needsChromium,
  async (t) => {
    const { page, stub } = await openPage(t, { at: '/#/trader?since=7d', prepare: signedIn });
    await page.getByRole('combobox', { name: 'Account and market' }).selectOption(MARKUP);
    await page.getByRole('figure', { name: 'Equity' }).waitFor();
    const asked = new URL(stub.read.findLast((path) => path.startsWith('/api/trader/books')) ?? '', stub.url);
    assert.equal(asked.searchParams.get('concern_id'), MARKUP);
    assert.match(page.url(), /since=7d&concern=/);
    for (const name of ['orders', 'fills', 'equity']) {
      const link = page.getByRole('link', { name, exact: true });
      const file = new URL((await link.getAttribute('href')) ?? '', stub.url);
      assert.equal(file.pathname, `/api/trader/books/${name}.csv`);
      assert.deepEqual([...file.searchParams], [...asked.searchParams]);
    }
  },
);

test('the books fit a narrow screen, and an account without a bar says so', needsChromium, async (t) => {
  const { page, stub, faults } = await openPage(t, { at: '/#/trader', width: 390, prepare: signedIn });
  await page.locator('.marks .mark-sell').first().waitFor();
  assert.equal(await overflow(page), 0);
  const { width = 0 } = (await page.locator('.chart .u-over').first().boundingBox()) ?? {};
  assert.ok(width > 240, `the chart is ${width} px wide`);
  const books = booksOf(stub);
  stub.state.documents['/api/trader/books'] = {
    ...books,
    points: books.points.slice(-1),
    fills: [],
    marks: [],
  };
  stub.changed({ views: ['trader'] });
  await page.getByText('No fill in this time.').waitFor();
  stub.state.documents['/api/trader/books'] = { ...books, points: [], fills: [], marks: [] };
  stub.changed({ views: ['trader'] });
  await page.getByText('No bar in this time.').waitFor();
  stub.state.documents['/api/trader/books'] = { ...books, measured_since: null, points: [], fills: [] };
  stub.changed({ views: ['trader'] });
  await page.getByText('The books have no entry yet').waitFor();
  assert.equal(faults.join('\n'), '');
});
