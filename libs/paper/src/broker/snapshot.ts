import { FleetError, fieldErrors, type JsonObject, RiskMode } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { money, text } from '../market/money.ts';
import type { Bar } from '../market/strategy.ts';
import type { Order } from './order.ts';
import type { EngineState } from './state.ts';

const decimal = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .transform((value) => money(value));
const count = z.int().min(0);

const bar = z
  .tuple([count, decimal, decimal, decimal, decimal, decimal])
  .transform(([at, open, high, low, close, volume]): Bar => ({ at, open, high, low, close, volume }));

const order = z.strictObject({
  id: z.string(),
  strategyId: z.string(),
  side: z.enum(['buy', 'sell']),
  kind: z.enum(['market', 'limit']),
  purpose: z.enum(['entry', 'exit']),
  quantity: decimal,
  limitPrice: decimal.optional(),
  tag: z.string().optional(),
  state: z.enum(['open', 'filled', 'canceled', 'rejected']),
  reserved: decimal,
  isHalved: z.boolean(),
  fillPrice: decimal.optional(),
  fee: decimal.optional(),
  reason: z.string().optional(),
  placedAt: count,
  endedAt: count.optional(),
});

/** The stored form of the state. A change of its shape needs a new version and a reader of this one. */
const Snapshot = z.strictObject({
  version: z.literal(1),
  account: z.strictObject({
    cash: decimal,
    position: decimal,
    basis: decimal,
    realized: decimal,
    fees: decimal,
  }),
  bars: z.array(bar),
  open: z.array(order),
  recent: z.array(order),
  counts: z.strictObject({ bars: count, fills: count, rejects: count, slipped: decimal, slippage: decimal }),
  rejectsOfBars: z.array(count),
  consecutiveErrors: count,
  configured: z.strictObject({
    runState: z.enum(['running', 'paused']),
    riskMode: RiskMode,
    strategyId: z.string().nullable(),
  }),
});

/** Restores exactly the state that `writeSnapshot` wrote. STORE_UNAVAILABLE, not retryable, for an invalid snapshot. */
export function readSnapshot(snapshot: JsonObject, concernId: string): EngineState {
  const parsed = Snapshot.safeParse(snapshot);
  if (parsed.success) {
    const { version: _, ...state } = parsed.data;
    return state;
  }
  const message = `the stored engine of ${concernId} cannot be read; restore control.db from a backup`;
  throw new FleetError('STORE_UNAVAILABLE', message, {
    fields: fieldErrors(parsed.error),
    retryable: false,
  });
}

export function writeSnapshot(state: EngineState): JsonObject {
  const { account, counts, configured } = state;
  return {
    version: 1,
    account: {
      cash: text(account.cash),
      position: text(account.position),
      basis: text(account.basis),
      realized: text(account.realized),
      fees: text(account.fees),
    },
    bars: state.bars.map(writeBar),
    open: state.open.map(writeOrder),
    recent: state.recent.map(writeOrder),
    counts: { ...counts, slipped: text(counts.slipped), slippage: text(counts.slippage) },
    rejectsOfBars: [...state.rejectsOfBars],
    consecutiveErrors: state.consecutiveErrors,
    configured: { ...configured },
  };
}

const writeBar = ({ at, open, high, low, close, volume }: Bar): [number, ...string[]] => [
  at,
  ...[open, high, low, close, volume].map(text),
];

function writeOrder({
  quantity,
  reserved,
  limitPrice,
  fillPrice,
  fee,
  tag,
  reason,
  endedAt,
  ...rest
}: Order): JsonObject {
  return {
    ...rest,
    quantity: text(quantity),
    reserved: text(reserved),
    ...(limitPrice === undefined ? {} : { limitPrice: text(limitPrice) }),
    ...(fillPrice === undefined ? {} : { fillPrice: text(fillPrice) }),
    ...(fee === undefined ? {} : { fee: text(fee) }),
    ...(tag === undefined ? {} : { tag }),
    ...(reason === undefined ? {} : { reason }),
    ...(endedAt === undefined ? {} : { endedAt }),
  };
}
