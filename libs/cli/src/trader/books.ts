import type { JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import { callApi, readJson, refusal, request, type Target } from '../client/http.ts';
import { columns } from '../command-line/output.ts';
import { percent } from './percent.ts';

export type OrdersKind = 'orders' | 'fills';

const CALL_MS = 30_000;
/** Entries of a page. */
const PAGE = 1_000;

/** At most `limit` orders or fills, from as many pages as it takes. Throws like `callApi`. */
export async function readOrders(
  trader: Target,
  kind: OrdersKind,
  query: Readonly<Record<string, string>>,
  limit: number,
): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  let after: string | undefined;
  while (rows.length < limit) {
    const page = {
      ...query,
      ...(after !== undefined && { after }),
      limit: `${Math.min(PAGE, limit - rows.length)}`,
    };
    const answer = await callApi(trader, `/books/${kind}?${new URLSearchParams(page)}`);
    rows.push(...objectsAt(answer, kind));
    if (typeof answer.next !== 'string') break;
    after = answer.next;
  }
  return rows;
}

/** Calls `onPage` with the text of each page of a CSV export; only the first has the header. Throws like `callApi`. */
export async function readCsv(
  trader: Target,
  path: string,
  query: Readonly<Record<string, string>>,
  o: { readonly limit: number; readonly onPage: (text: string) => void },
): Promise<void> {
  let after: string | undefined;
  for (let left = o.limit; left > 0; left -= PAGE) {
    const page = {
      ...query,
      format: 'csv',
      ...(after !== undefined && { after }),
      ...(path === '/books/performance' ? {} : { limit: `${Math.min(PAGE, left)}` }),
    };
    const response = await request(trader, `${path}?${new URLSearchParams(page)}`, {
      headers: { authorization: `Bearer ${trader.token}` },
      signal: AbortSignal.timeout(CALL_MS),
    });
    if (!response.ok) throw refusal(trader, response.status, await readJson(trader, response));
    const text = await response.text();
    o.onPage(after === undefined ? text : text.slice(text.indexOf('\n') + 1));
    const next = response.headers.get('fleet-next');
    if (next === null) return;
    after = next;
  }
}

const ORDER_KEYS = ['at', 'event', 'side', 'quantity', 'limit_price', 'fill_price', 'fee', 'realized_pnl'];

/** A table of orders or fills. */
export function renderOrders(rows: readonly JsonObject[]): string[] {
  if (rows.length === 0) return ['none'];
  const keys = [...ORDER_KEYS, 'strategy_id', 'decision_id', 'reason'];
  const head = keys.map((key) => key.replaceAll('_', ' '));
  const cell = (row: JsonObject, key: string): string =>
    row[key] === null || row[key] === undefined ? '' : textAt(row, key);
  return columns(
    head,
    rows.map((row) => keys.map((key) => cell(row, key))),
  );
}

/** Lines for `/books/performance`. */
export function renderPerformance(found: JsonObject): string[] {
  const total = objectAt(found, 'total');
  const table = (key: string, rows: readonly JsonObject[]): string[] =>
    columns(
      [key.replace('_id', ''), 'return', 'drawdown', 'sharpe', 'profit', 'fees', 'fills', 'wins', 'bars'],
      rows.map((row) => [
        row[key] === null ? 'none' : textAt(row, key),
        percent(row.return),
        percent(row.max_drawdown),
        ratio(row.sharpe),
        textAt(row, 'realized_profit'),
        textAt(row, 'fees'),
        textAt(row, 'fills'),
        percent(row.win_rate),
        textAt(row, 'bars'),
      ]),
    );
  return [
    `${textAt(found, 'concern_id')}, since ${textAt(found, 'since')}`,
    line('equity', `${textAt(total, 'equity')}, from ${textAt(total, 'opening_equity')}`),
    line('return', percent(total.return)),
    line('drawdown', `${percent(total.drawdown)} now, ${percent(total.max_drawdown)} at most`),
    line('sharpe', `${ratio(total.sharpe)}, sortino ${ratio(total.sortino)}, a year`),
    line(
      'sales',
      `${textAt(total, 'sales')}, ${percent(total.win_rate)} with a profit; profit factor ${ratio(total.profit_factor)}`,
    ),
    line('profit', `${textAt(total, 'realized_profit')} realized, ${textAt(total, 'fees')} fees`),
    line('exposure', percent(total.exposure)),
    '',
    ...table('strategy_id', objectsAt(found, 'strategies')),
    '',
    ...table('decision_id', objectsAt(found, 'decisions')),
  ];
}

const line = (name: string, value: string): string => `  ${name.padEnd(10)} ${value}`;
const ratio = (value: unknown): string => (typeof value === 'number' ? value.toFixed(2) : '-');
