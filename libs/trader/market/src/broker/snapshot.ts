import { FleetError, fieldErrors, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { RiskMode } from '@hermes-fleet/protocol/control';
import { Decimal } from 'decimal.js';
import { z } from 'zod';
import { storedDecimal } from '../terms/decimal-text.ts';
import type { Market } from '../terms/market.ts';
import { text } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';
import type { EngineState } from './state.ts';

const count = z.int().min(0);

const bar = z
  .tuple([count, storedDecimal, storedDecimal, storedDecimal, storedDecimal, storedDecimal])
  .transform(([at, open, high, low, close, volume]): Bar => ({ at, open, high, low, close, volume }));

const order = z.strictObject({
  id: z.string(),
  strategyId: z.string(),
  side: z.enum(['buy', 'sell']),
  kind: z.enum(['market', 'limit']),
  purpose: z.enum(['entry', 'exit']),
  quantity: storedDecimal,
  limitPrice: storedDecimal.optional(),
  tag: z.string().optional(),
  state: z.enum(['open', 'filled', 'canceled', 'rejected']),
  reserved: storedDecimal,
  isHalved: z.boolean(),
  fillPrice: storedDecimal.optional(),
  fee: storedDecimal.optional(),
  realized: storedDecimal.optional(),
  reason: z.string().optional(),
  placedAt: count,
  endedAt: count.optional(),
  rev: count.optional(),
});

/** The stored form of the state. A change of its shape needs a new version and a reader of this one. */
const Snapshot = z.strictObject({
  version: z.literal(2),
  account: z.strictObject({
    cash: storedDecimal,
    position: storedDecimal,
    basis: storedDecimal,
    realized: storedDecimal,
    fees: storedDecimal,
  }),
  bars: z.array(bar),
  open: z.array(order),
  recent: z.array(order),
  counts: z.strictObject({
    bars: count,
    fills: count,
    rejects: count,
    slipped: storedDecimal,
    slippage: storedDecimal,
  }),
  rejectsOfBars: z.array(count),
  consecutiveErrors: count,
  feed: z.string().optional(),
  configured: z.strictObject({
    runState: z.enum(['running', 'paused']),
    riskMode: RiskMode,
    strategyId: z.string().nullable(),
    rev: count.optional(),
  }),
  opening: z.strictObject({ quote: storedDecimal, base: storedDecimal }),
  entries: count,
});

/**
 * Restores exactly the state that `writeSnapshot` wrote, without entries that were not saved. STORE_UNAVAILABLE, not
 * retryable, for an invalid snapshot.
 */
export function readSnapshot(snapshot: JsonObject, concernId: string, market: Market): EngineState {
  const parsed = Snapshot.safeParse(snapshot);
  if (parsed.success) {
    const { version: _, entries, ...state } = parsed.data;
    // An account that no bar has opened gets the present balances.
    const opening = state.counts.bars === 0 ? market.balances : state.opening;
    return { ...state, opening, journal: { last: entries, pending: [] } };
  }
  const message = `the stored engine of ${concernId} cannot be read; restore control.db from a backup`;
  throw new FleetError('STORE_UNAVAILABLE', message, {
    fields: fieldErrors(parsed.error),
    retryable: false,
  });
}

export function writeSnapshot({ journal, bars, ...state }: EngineState): JsonObject {
  return { version: 2, ...written(state), bars: bars.map(writeBar), entries: journal.last };
}

const writeBar = ({ at, open, high, low, close, volume }: Bar): [number, ...string[]] => [
  at,
  ...[open, high, low, close, volume].map(text),
];

/** The fields that have a value, with decimals as `storedDecimal` reads them at every depth. */
function written(fields: object): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) result[name] = plain(value);
  return result;
}

function plain(value: unknown): JsonValue {
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  if (Decimal.isDecimal(value)) return text(value);
  return Array.isArray(value) ? value.map(plain) : written(value);
}
