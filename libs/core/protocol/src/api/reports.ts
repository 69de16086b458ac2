import { z } from 'zod';
import { ControlResponseWire } from '../control/response.ts';
import { Figures } from './figures.ts';

// What the entry points of services print instead of serving, as JSON. The command reads it in the release that wrote it.

const text = z.string();
const number = z.number();

/** One check of `fleet doctor`. */
export const Finding = z.object({
  /** What was examined: a file, a peer, the bus. */
  subject: text,
  check: text,
  /** `warning`: it works, but needs attention. `skipped`: not tried, for the reason in `detail`. */
  state: z.enum(['ok', 'warning', 'failed', 'skipped']),
  detail: text,
  /** The action to take, unless `detail` says it. */
  fix: text.optional(),
});

/** The output of `--doctor`. */
export const DoctorReport = z.object({
  profile: text,
  /** False when a check failed. */
  ok: z.boolean(),
  findings: z.array(Finding),
});

/** The output of `--refill`. */
export const RefillReport = z.object({
  profile: text,
  acknowledged: number,
  missing: number,
  published: number,
  /** Ended tasks that retention or a deletion has removed from the ledger: their events cannot be published again. */
  removed_tasks: number,
});

const Asked = <S extends z.ZodRawShape>(shape: S) =>
  z.discriminatedUnion('state', [
    z.object({ state: z.literal('asked'), ...shape }),
    z.object({ state: z.literal('not asked'), reason: text }),
  ]);
/** A place in the hash chain of an audit. */
export const Head = z.object({ seq: number, hash: text });
/** The first record that is not as it was written. */
export const Broken = z.object({ seq: number, reason: text, table: text.optional(), row: text.optional() });

/** The output of `--verify-audit` (docs/trader.md#audit). */
export const AuditReport = z.object({
  file: text,
  ok: z.boolean(),
  records: number,
  head: Head,
  broken: Broken.optional(),
  accepted: z.array(
    z.object({ seq: number, at: text, caller: text, reason: text, published: Head.nullable() }),
  ),
  /** The head in NATS; null where it holds none. */
  published: Asked({ seq: number.nullable(), hash: text.nullable() }),
  /** The heads that the console has seen. */
  witness: Asked({
    heads: z.array(
      Head.extend({
        store: text,
        verdict: z.enum(['ok', 'accepted', 'missing']),
        accepted_in: number.optional(),
      }),
    ),
  }),
});

/** A line of `--show-audit`; AuditRecord has what the kinds add. */
export const AuditLine = z.object({
  seq: number,
  hash: text,
  record: z.looseObject({ kind: text, at: text }),
});

const recorded = <K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z.object({ kind: z.literal(kind), ...shape });
const Change = ControlResponseWire.pick({ action: true, concern_id: true, decision_id: true, dry_run: true });

/** The kinds of records that people are shown, with what they are shown of them. */
export const AuditRecord = z.discriminatedUnion('kind', [
  recorded('attempt', {
    caller: text,
    door: text,
    status: text,
    response: Change.extend({ errors: z.array(z.object({ code: text })) }),
  }),
  recorded('outcome', { of: number, outcome: text }),
  recorded('status', { strategy_id: text, status: text, reason: text }),
  recorded('hold', {
    change: z.object({ concern_id: text, run_state: text, risk_mode: text }),
    reason: text,
  }),
  recorded('refusals', { caller: text, counts: z.record(text, number), from: text }),
  recorded('accept', { caller: text, broken: z.object({ reason: text }), reason: text }),
  recorded('seed', { concerns: z.array(z.unknown()), strategies: z.array(z.unknown()) }),
]);

const Ratio = number.nullable();
const Params = z.record(text, z.json());

/** The report of a backtest (docs/trader.md#backtest-it). */
export const BacktestReport = z.object({
  concern_id: text,
  source: z.union([
    z.object({ kind: z.literal('csv'), file: text }),
    z.object({
      kind: z.literal('synthetic'),
      seed: number,
      start_price: text,
      volatility_bps: number,
      interval_s: number,
    }),
  ]),
  market: Params,
  runs: z.array(
    Figures.extend({
      strategy: z.object({ id: text, name: text, kind: text, params: Params }),
      price_change: Ratio,
      orders: z.object({ placed: number, filled: number, canceled: number, rejected: number, open: number }),
      position: text,
      unrealized_profit: text,
      average_slippage_bps: text.nullable(),
      strategy_errors: z.object({ bars: number, first: text.nullable() }),
      end: z.object({ active_strategy_id: text.nullable(), run_state: text, risk_mode: text }),
      decisions: z.array(z.object({ line: number, bar: number, response: ControlResponseWire })),
      equity_curve: z.array(z.object({ at: text, equity: text, close: text })),
    }),
  ),
});

/** What a backtest prints for a request that it refuses. */
export const BacktestRefusal = z.object({
  error: z.object({
    code: text,
    message: text,
    fields: z.array(z.object({ path: text, reason: text })),
  }),
});
