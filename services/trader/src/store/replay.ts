import type { Concern } from '@hermes-fleet/paper';
import {
  FleetError,
  isJsonObject,
  type JsonObject,
  RiskMode,
  readControlDecision,
} from '@hermes-fleet/protocol';
import type { AuditRecord } from '../control/control-store.ts';
import { changed } from '../control/judge.ts';

/**
 * The control state, rebuilt from the audit alone: what the seeds listed, and what was decided since, applied again from
 * the payloads as they were received (design 4, Crash safety). The records are to be all, from the first. Throws INTERNAL
 * for one that cannot have come of those before it.
 */
export function replay(records: Iterable<AuditRecord>): Map<string, Concern> {
  const concerns = new Map<string, Concern>();
  /** What was before each apply whose outcome has not come yet, by its record. */
  const open = new Map<number, Concern>();
  for (const { seq, record } of records) {
    const impossible = (why: string): FleetError =>
      new FleetError('INTERNAL', `audit record ${seq} cannot be replayed: ${why}`);
    switch (record['kind']) {
      case 'seed':
        for (const concern of seeded(record, impossible)) concerns.set(concern.id, concern);
        for (const id of listOf(record['removed'])) if (typeof id === 'string') concerns.delete(id);
        break;
      case 'attempt': {
        if (record['status'] !== 'applied') break;
        const { before, after } = applied(record, concerns, impossible);
        open.set(seq, before);
        concerns.set(after.id, after);
        break;
      }
      case 'outcome': {
        const of = record['of'];
        const before = typeof of === 'number' ? open.get(of) : undefined;
        const now = before && concerns.get(before.id);
        if (typeof of !== 'number' || before === undefined || now === undefined)
          throw impossible('it ends no apply that is open');
        open.delete(of);
        if (record['outcome'] === 'compensated') concerns.set(before.id, { ...before, rev: now.rev + 1 });
        break;
      }
      case 'status':
        break;
      default:
        throw impossible('nothing is known of its kind');
    }
  }
  return concerns;
}

type Impossible = (why: string) => FleetError;

function applied(
  { text }: JsonObject,
  concerns: ReadonlyMap<string, Concern>,
  impossible: Impossible,
): { before: Concern; after: Concern } {
  const reading = typeof text === 'string' ? readControlDecision(text) : undefined;
  if (reading === undefined || !('decision' in reading)) throw impossible('it applied no decision');
  const before = concerns.get(reading.decision.concernId);
  if (before === undefined) throw impossible('there was no such concern');
  const after = changed(reading.decision, before);
  if (after === undefined) throw impossible('it changed nothing');
  return { before, after };
}

function seeded(record: JsonObject, impossible: Impossible): Concern[] {
  return listOf(record['concerns']).map((wire) => {
    if (!isJsonObject(wire)) throw impossible('a concern of it is no object');
    const { concern_id, account_id, market_symbol, active_strategy_id, run_state, risk_mode, rev } = wire;
    const mode = RiskMode.safeParse(risk_mode);
    if (
      typeof concern_id !== 'string' ||
      typeof account_id !== 'string' ||
      typeof market_symbol !== 'string' ||
      (typeof active_strategy_id !== 'string' && active_strategy_id !== null) ||
      (run_state !== 'running' && run_state !== 'paused') ||
      typeof rev !== 'number' ||
      !mode.success
    )
      throw impossible('a concern of it lacks what it needs');
    return {
      id: concern_id,
      accountId: account_id,
      marketSymbol: market_symbol,
      activeStrategyId: active_strategy_id,
      runState: run_state,
      riskMode: mode.data,
      rev,
    };
  });
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
