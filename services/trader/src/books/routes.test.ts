import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { TRADER } from '@hermes-fleet/protocol/api';
import { manualClock, recordingLog } from '@hermes-fleet/protocol/testing';
import { type OpenBooks, openBooks } from '../../testing/books/books-app.ts';
import { CONCERN, GRID, INTERVAL_MS, TREND } from '../../testing/running.ts';
import { createBookKeeper } from './book-keeper.ts';
import { createSummary } from './summary.ts';

const deadline = { timeout: 60_000 };
// biome-ignore lint/suspicious/noExplicitAny: the tests are about what an answer has
type Body = any;

/** A grid around 100 that buys on the way down and sells on the way up, ten bars. */
async function traded(run: OpenBooks): Promise<void> {
  for (const close of [100, 98.9, 97.9, 99.1, 100.2, 99, 98, 99.5, 100.5, 100]) await run.bar(close);
  // The bar is known before its save.
  await until(() => run.keeper.analysis(CONCERN.id).total().bars === 10);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const json = async (run: OpenBooks, path: string): Promise<Body> => (await run.get(path)).body;

test('orders and fills are read newest first or oldest first, page by page', deadline, async (t) => {
  const run = await openBooks(t);
  await traded(run);
  const all = await json(run, '/books/orders?order=oldest&limit=1000');
  assert.equal(all.concern_id, CONCERN.id);
  assert.equal(all.next, null);
  const numbers = all.orders.map(({ entry }: Body) => entry);
  assert.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  assert.ok(new Set(all.orders.map(({ event }: Body) => event)).has('placed'));
  const newest = await json(run, '/books/orders?limit=1000');
  assert.deepEqual(newest.orders, [...all.orders].reverse());
  const pages: Body[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const page: Body = await json(run, `/books/orders?limit=3${next === '' ? '' : `&after=${next}`}`);
    assert.ok(page.orders.length <= 3);
    pages.push(...page.orders);
    next = page.next;
  }
  assert.deepEqual(pages, newest.orders);
  // The rows are stored records: nothing but this holds them against the schema.
  for (const route of [TRADER.orders, TRADER.fills, TRADER.performance]) {
    const answer = await json(run, route.path);
    assert.deepEqual(route.answer.parse(answer), answer, route.path);
  }
  const { fills } = await json(run, '/books/fills?order=oldest');
  assert.deepEqual(
    fills,
    all.orders.filter(({ event }: Body) => event === 'filled'),
  );
  assert.ok(fills.length >= 4, `${fills.length} fills`);
  const [first] = fills;
  assert.deepEqual(
    [first.side, first.strategy_id, first.fill_price, typeof first.fee, first.decision_id],
    ['buy', GRID, first.limit_price, 'string', null],
  );
});

test('strategy, decision and time choose orders', deadline, async (t) => {
  const run = await openBooks(t);
  await traded(run);
  const { orders } = await json(run, '/books/orders?order=oldest');
  const at = orders.at(-1).recorded_at;
  const later = await json(run, `/books/orders?order=oldest&from=${at}`);
  assert.deepEqual(
    later.orders,
    orders.filter((each: Body) => each.recorded_at >= at),
  );
  const earlier = await json(run, `/books/orders?order=oldest&to=${at}`);
  assert.deepEqual(
    earlier.orders,
    orders.filter((each: Body) => each.recorded_at < at),
  );
  assert.deepEqual((await json(run, `/books/orders?strategy_id=${TREND}`)).orders, []);
  assert.deepEqual((await json(run, `/books/orders?strategy_id=${GRID}&order=oldest`)).orders, orders);
  assert.deepEqual((await json(run, '/books/fills?decision_id=dec-0')).fills, []);
});

test('performance agrees with the account, and its equity with the bars', deadline, async (t) => {
  const run = await openBooks(t);
  await traded(run);
  const { equity } = run.view();
  const found = await json(run, '/books/performance');
  assert.equal(found.total.equity, equity.total);
  assert.equal(found.total.fees, equity.feesPaid);
  assert.equal(found.total.realized_profit, equity.realizedPnl);
  assert.equal(found.total.bars, 10);
  assert.equal(found.equity.length, 10);
  assert.equal(found.equity.at(-1).equity, equity.total);
  assert.ok(Math.abs(found.total.return - (Number(equity.total) / 10_000 - 1)) < 1e-8);
  assert.deepEqual(
    found.strategies.map((each: Body) => [each.strategy_id, each.equity, each.fills]),
    [[GRID, equity.total, found.total.fills]],
  );
  const thinned = await json(run, '/books/performance?points=3');
  assert.equal(thinned.equity.length, 3);
  assert.deepEqual(thinned.equity.at(-1), found.equity.at(-1));
});

test('the summary for get_strategy has the figures of the performance', deadline, async (t) => {
  const run = await openBooks(t);
  await traded(run);
  const found = await json(run, '/books/performance');
  const summary = createSummary(run.keeper);
  const [own] = found.strategies;
  assert.ok(own.fills > 0 && own.sales > 0);
  assert.deepEqual(summary(CONCERN.id, GRID), {
    strategy: {
      return: own.return,
      maxDrawdown: own.max_drawdown,
      realizedProfit: own.realized_profit,
      fees: own.fees,
      fills: own.fills,
      winRate: own.win_rate,
    },
    account: {
      return: found.total.return,
      drawdown: found.total.drawdown,
      maxDrawdown: found.total.max_drawdown,
    },
  });
  assert.equal(summary(CONCERN.id, TREND)?.strategy, null);
  const analysis = run.keeper.analysis;
  assert.equal(
    createSummary({ analysis, problem: () => 'they are being read' })(CONCERN.id, GRID),
    undefined,
  );
});

test('books are exported as CSV', deadline, async (t) => {
  const run = await openBooks(t);
  await traded(run);
  const { fills } = await json(run, '/books/fills?order=oldest');
  const sheet = await run.get('/books/fills?order=oldest&format=csv&limit=2');
  assert.match(sheet.headers.get('content-type') ?? '', /^text\/csv/);
  const lines = sheet.text.split('\r\n');
  assert.match(lines[0] ?? '', /^entry,recorded_at,at,event,decision_id,id,strategy_id,side,/);
  assert.equal(lines.length, 4);
  assert.equal(lines[1]?.split(',')[5], fills[0].id);
  assert.equal(sheet.headers.get('fleet-next'), String(fills[1].entry));
  const bars = await run.get('/books/performance?format=csv');
  assert.match(bars.text, /^entry,recorded_at,at,decision_id,strategy_id,close,/);
  assert.equal(bars.text.split('\r\n').length, 12);
  assert.match(bars.text, /^entry,recorded_at,at,decision_id,strategy_id,close,/);
});

test('books need the scope and the account, and a wrong query is named', deadline, async (t) => {
  const run = await openBooks(t);
  for (const path of ['/books/orders', '/books/fills', '/books/performance']) {
    assert.equal((await run.get(path, 'decider')).status, 403, path);
    const foreign = await run.get(`${path}?concern_id=${CONCERN.id}`, 'foreigner');
    const unknown = await run.get(`${path}?concern_id=a:b`);
    assert.deepEqual([foreign.status, foreign.body], [unknown.status, unknown.body], path);
    assert.match(unknown.text, /no such concern/);
    assert.equal((await run.get(path, 'nobody')).status, 401, path);
  }
  const wrong = await run.get('/books/orders?limit=0&order=first&since=2026');
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /limit: must be from 1 to 1000/);
  assert.match(wrong.text, /since/);
});

test('a keeper that reads the books from their beginning measures the same', deadline, async (t) => {
  const run = await openBooks(t);
  await traded(run);
  const { books } = run.store;
  const concerns = [{ id: CONCERN.id, intervalMs: INTERVAL_MS }];
  const { clock, log } = run;
  const late = createBookKeeper({
    books,
    concerns,
    clock,
    log,
    onBar: (_id, _bar, isLive) => assert.equal(isLive, false),
  });
  assert.match(late.problem() ?? '', /being read/);
  assert.throws(() => late.analysis(CONCERN.id), { code: 'STORE_UNAVAILABLE' });
  const read = Promise.withResolvers<void>();
  late.start(read.resolve);
  await read.promise;
  assert.equal(late.problem(), undefined);
  const [before, after] = [run.keeper.analysis(CONCERN.id), late.analysis(CONCERN.id)];
  assert.deepEqual(
    [after.total(), after.strategies(), after.decisions(), after.since()],
    [before.total(), before.strategies(), before.decisions(), before.since()],
  );
});

test('books that cannot be read are reported, and read again', deadline, async () => {
  const clock = manualClock();
  const log = recordingLog();
  let isBroken = true;
  const after = (): [] => {
    if (isBroken) throw new FleetError('STORE_UNAVAILABLE', 'the disk is away');
    return [];
  };
  const concerns = [{ id: CONCERN.id, intervalMs: INTERVAL_MS }];
  const keeper = createBookKeeper({ books: { after }, concerns, clock, log, onBar: () => undefined });
  const read = Promise.withResolvers<void>();
  keeper.start(read.resolve);
  await until(() => keeper.problem() !== 'they are being read');
  assert.match(keeper.problem() ?? '', /cannot be read: the disk is away/);
  isBroken = false;
  clock.advance(5_000);
  await read.promise;
  assert.equal(keeper.problem(), undefined);
  await keeper.close();
});
