import type { Concern } from '@hermes-fleet/paper';
import {
  FleetError,
  isJsonObject,
  type JsonObject,
  RiskMode,
  readControlDecision,
} from '@hermes-fleet/protocol';
import type { AuditRecord } from '../control/control-store.ts';
import { nextState } from '../control/judge.ts';

/**
 * Rebuilds the control state from the audit alone: applies the seeds and the recorded payloads again
 * (docs/trader.md#audit). Needs all records from the first. Throws INTERNAL for a record that contradicts those before it.
 */
export function replay(records: Iterable<AuditRecord>): Map<string, Concern> {
  const concerns = new Map<string, Concern>();
  /** The concern before each applied decision without an outcome, by audit record. */
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
          throw impossible('it is the outcome of no open apply');
        open.delete(of);
        if (record['outcome'] === 'compensated') concerns.set(before.id, { ...before, rev: now.rev + 1 });
        break;
      }
      case 'hold': {
        const held = heldBy(record, concerns, impossible);
        concerns.set(held.id, held);
        break;
      }
      case 'status':
      case 'refusals':
      case 'books':
        break;
      default:
        throw impossible('its kind is unknown');
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
  if (reading === undefined || !('decision' in reading)) throw impossible('its payload is not a decision');
  const before = concerns.get(reading.decision.concernId);
  if (before === undefined) throw impossible('its concern does not exist');
  const after = nextState(reading.decision, before);
  if (after === undefined) throw impossible('it changed nothing');
  return { before, after };
}

function heldBy(
  { change }: JsonObject,
  concerns: ReadonlyMap<string, Concern>,
  impossible: Impossible,
): Concern {
  const { concern_id: id, run_state, risk_mode, rev } = isJsonObject(change) ? change : {};
  const before = typeof id === 'string' ? concerns.get(id) : undefined;
  const mode = RiskMode.safeParse(risk_mode);
  if (before === undefined || !mode.success || (run_state !== 'running' && run_state !== 'paused'))
    throw impossible('its concern does not exist, or its state is incomplete');
  if (rev !== before.rev + 1) throw impossible('it does not follow the revision before it');
  return { ...before, runState: run_state, riskMode: mode.data, rev };
}

function seeded(record: JsonObject, impossible: Impossible): Concern[] {
  return listOf(record['concerns']).map((wire) => {
    if (!isJsonObject(wire)) throw impossible('one of its concerns is not an object');
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
      throw impossible('one of its concerns is incomplete');
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
