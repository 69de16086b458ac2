import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { deadline, type ManualClock, manualClock } from '@hermes-fleet/protocol/testing';
import { type Browser, startTestConsole } from '../testing/console.ts';
import { controlEvent, publish, STARTED_AT } from '../testing/events.ts';
import type { BooksDocument } from './http/trader-books.ts';

const TOKEN = 'token-of-operator-0123456789';
const FIGURES = {
  ...{
    bars: 2,
    first_at: null,
    last_at: null,
    opening_equity: '100',
    equity: '101',
    return: 0.01,
    drawdown: 0,
  },
  ...{
    max_drawdown: 0.1,
    sharpe: null,
    sortino: null,
    exposure: 0.5,
    fills: 1,
    sales: 0,
    wins: 0,
    win_rate: null,
  },
  profit_factor: null,
  realized_profit: '0',
  fees: '0.1',
};
const point = (equity: string) => {
  const at = new Date(STARTED_AT).toISOString();
  const account = { cash: '1', position: '0', realized_pnl: '0', fees_paid: '0' };
  return {
    entry: 1,
    recorded_at: at,
    at,
    decision_id: null,
    strategy_id: null,
    close: '2',
    equity,
    ...account,
  };
};
const STRATEGY = {
  ...{ id: 's', name: 'Grid', kind: 'grid_trader', account_id: 'a', market_symbol: 'm', params: {} },
  status: 'active',
};
const PERFORMANCE = {
  concern_id: 'a:m',
  since: new Date(STARTED_AT).toISOString(),
  total: FIGURES,
  strategies: [],
  decisions: [
    { decision_id: 'decision-1', strategy_id: 's', ...FIGURES },
    { decision_id: 'decision-9', strategy_id: 's', ...FIGURES },
  ],
  equity: [point('100'), point('120'), point('90'), point('0')],
};

type Answer = (request: IncomingMessage, reply: ServerResponse) => void;
const json = (reply: ServerResponse, body: unknown): unknown =>
  reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** A console with a token, beside a trader that a test writes. */
async function withTrader(
  t: TestContext,
  answer: Answer,
  { clock, trader = 'trader' }: { readonly clock?: ManualClock; readonly trader?: string } = {},
): Promise<{ browser: Browser; asked: URL[]; natsUrl: string; url: string }> {
  const asked: URL[] = [];
  const server = createServer((request, reply) => {
    const url = new URL(request.url ?? '', 'http://trader');
    if (url.pathname !== '/jsonrpc') {
      asked.push(url);
      return answer(request, reply);
    }
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const isList = text.includes('list_strategies');
      json(reply, {
        jsonrpc: '2.0',
        id: 1,
        result: isList ? { strategies: [STRATEGY] } : {},
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const fleet = await startTestConsole(t, {
    ...(clock && { clock }),
    config: { profiles: { trader: { url: `http://127.0.0.1:${port}` } }, entry: 'trader', trader },
  });
  const browser = await fleet.signIn();
  assert.equal((await browser.send('POST', '/api/token', { token: TOKEN })).status, 200);
  return { browser, asked, natsUrl: fleet.nats.url, url: `http://127.0.0.1:${port}` };
}

const answering =
  (change: Record<string, unknown> = {}): Answer =>
  ({ url = '' }, reply) =>
    json(
      reply,
      url.startsWith('/books/fills')
        ? { concern_id: 'a:m', fills: [], next: null }
        : { ...PERFORMANCE, ...change },
    );

const failure = async (response: Response): Promise<[number, string, string]> => {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message];
};

test('who decided comes from the events, and the drawdown from the points', deadline, async (t) => {
  const { browser, asked, natsUrl } = await withTrader(t, answering());
  await publish(natsUrl, [
    controlEvent(1, { caller: 'operator', action: 'switch' }),
    controlEvent(2, { caller: 'operator', status: 'rejected' }),
    controlEvent(3, { caller: 'switch', concern_id: 'b:m' }),
  ]);
  while ((await browser.json<{ decisions: unknown[] }>(`/api/trader?since=${iso(0)}`)).decisions.length < 3);
  const found = await browser.json<BooksDocument>(
    `/api/trader/books?concern_id=a:m&since=${iso(0)}&until=${iso(9e5)}`,
  );
  assert.deepEqual(
    found.decisions.map(({ decision_id, action, caller, name }) => [decision_id, action, caller, name]),
    [
      ['decision-1', 'switch', 'operator', 'Grid'],
      ['decision-9', null, null, 'Grid'],
    ],
  );
  assert.deepEqual(
    found.marks.map(({ decision_id, caller }) => [decision_id, caller]),
    [['decision-1', 'operator']],
  );
  assert.deepEqual(
    found.points.map(({ drawdown }) => drawdown),
    [0, 0, 0.25, 1],
  );
  const performance = asked.find(({ pathname }) => pathname === '/books/performance');
  assert.deepEqual(Object.fromEntries(performance?.searchParams ?? []), {
    concern_id: 'a:m',
    from: iso(0),
    to: iso(9e5),
    points: '300',
  });
  const later = await browser.json<BooksDocument>(`/api/trader/books?since=${iso(6e5)}&until=${iso(9e5)}`);
  assert.deepEqual(
    [later.marks, later.decisions[0]?.action],
    [[], 'switch'],
    'a mark is in the span, who decided is not bound to it',
  );
});

const iso = (after: number): string => new Date(STARTED_AT + after).toISOString();

test(
  'a trader that hangs, or answers with something else, is an error with its name',
  deadline,
  async (t) => {
    const clock = manualClock();
    let answer: Answer = () => undefined;
    const { browser, asked, url } = await withTrader(t, (...call) => answer(...call), { clock });
    const read = browser.get('/api/trader/books');
    while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5_000);
    assert.deepEqual(await failure(await read), [
      502,
      'PEER_UNREACHABLE',
      `trader does not answer at ${url}: no answer within 5 s`,
    ]);
    answer = answering({ total: { ...FIGURES, equity: '1e9' } });
    assert.match(
      (await failure(await browser.get('/api/trader/books'))).join(),
      /PEER_REFUSED.*total\.equity/,
    );
    answer = (_request, reply) => void reply.writeHead(200).end('x'.repeat(9_000_000));
    assert.match((await failure(await browser.get('/api/trader/books'))).join(), /PEER_REFUSED.*more than/);
    answer = (_request, reply) =>
      void reply
        .writeHead(503, { 'content-type': 'application/json' })
        .end(
          JSON.stringify({ error: { code: 'STORE_UNAVAILABLE', message: 'the books are still being read' } }),
        );
    assert.deepEqual((await failure(await browser.get('/api/trader/books/fills.csv'))).slice(0, 2), [
      503,
      'STORE_UNAVAILABLE',
    ]);
    for (const wrong of ['?from=2026-01-01', '?since=soon', `?concern_id=${'x'.repeat(257)}`])
      assert.equal((await browser.get(`/api/trader/books${wrong}`)).status, 400, wrong);
  },
);

test('a CSV has all pages under one header, and breaks off when one is missing', deadline, async (t) => {
  let isBroken = false;
  const { browser, asked } = await withTrader(t, ({ url = '' }, reply) => {
    const after = Number(new URL(url, 'http://trader').searchParams.get('after') ?? 0);
    if (isBroken && after === 2) return void reply.writeHead(500).end('{}');
    if (after < 3) reply.setHeader('fleet-next', String(after + 1));
    reply.setHeader('content-type', 'text/csv').end(`entry,side\r\n${after + 1},buy\r\n`);
  });
  const whole = await browser.get('/api/trader/books/orders.csv');
  assert.equal(await whole.text(), 'entry,side\r\n1,buy\r\n2,buy\r\n3,buy\r\n4,buy\r\n');
  assert.match(whole.headers.get('content-type') ?? '', /^text\/csv/);
  assert.deepEqual(
    asked.map(({ pathname, searchParams }) => [
      pathname,
      searchParams.get('order'),
      searchParams.get('limit'),
    ]),
    Array.from({ length: 4 }, () => ['/books/orders', 'oldest', '1000']),
  );
  isBroken = true;
  const part = await browser.get('/api/trader/books/orders.csv');
  await assert.rejects(part.text());
});

test('an export that takes more than five minutes breaks off', deadline, async (t) => {
  const clock = manualClock();
  const { browser } = await withTrader(
    t,
    (_request, reply) => {
      clock.advance(14_000);
      reply.setHeader('fleet-next', '1').end('entry\r\n1\r\n');
    },
    { clock },
  );
  await assert.rejects((await browser.get('/api/trader/books/fills.csv')).text());
});

test('a console that does not reach the trader says what to add', deadline, async (t) => {
  const { browser } = await withTrader(t, answering(), { trader: 'desk' });
  const [status, code, message] = await failure(await browser.get('/api/trader/books'));
  assert.deepEqual([status, code], [404, 'NOT_FOUND']);
  assert.match(message, /does not reach desk: add it to console\.profiles/);
});
