import type { ApiClient, Read, Service } from '@hermes-fleet/net/api';
import { TRADER, TRADER_RPC } from '@hermes-fleet/protocol/api';

/** The answers of the trader to `GET /books/performance` and `/books/fills` (docs/trader.md#read-the-books). */
export interface TraderBooks {
  readonly performance: Read<typeof TRADER.performance>;
  readonly fills: Read<typeof TRADER.fills>;
  /** The names of the strategies, by id. */
  readonly names: ReadonlyMap<string, string>;
}

/** The page does not wait longer. */
const BOOKS_MS = 5_000;
const MAX_POINTS = 300;
const MAX_FILLS = 500;

/** Reads the books of a concern. Throws as the client. */
export async function readBooks(
  client: ApiClient,
  trader: Service,
  query: Readonly<Record<string, string>>,
): Promise<TraderBooks> {
  const timeoutMs = BOOKS_MS;
  const [performance, fills, { strategies }] = await Promise.all([
    client.call(trader, TRADER.performance, { query: { ...query, points: `${MAX_POINTS}` }, timeoutMs }),
    client.call(trader, TRADER.fills, { query: { ...query, limit: `${MAX_FILLS}` }, timeoutMs }),
    client.rpc(trader, TRADER_RPC.listStrategies, {}, { timeoutMs }),
  ]);
  return { performance, fills, names: new Map(strategies.map(({ id, name }) => [id, name])) };
}
