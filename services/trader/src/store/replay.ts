import type { Concern } from '@hermes-fleet/market';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { RiskMode, readControlDecision } from '@hermes-fleet/protocol/control';
import type { AuditRecord } from '../control/control-store.ts';
import { nextState } from '../control/judge.ts';

/** Rebuilds the concerns from the audit: applies the seeds and the recorded payloads again (docs/trader.md#audit). */
export interface ConcernReplay {
  /** Takes the next record. Throws INTERNAL for one that contradicts those before it. */
  take(record: AuditRecord): void;
  /** The concerns that trader.yaml lists. */
  readonly listed: ReadonlyMap<string, Concern>;
  /** Those that it lists no more. */
  readonly unlisted: ReadonlyMap<string, Concern>;
}

/** The state before an applied decision without an outcome, or only its concern if an operator accepted the state after it. */
type Before = Concern | { readonly id: string; readonly rev: undefined };

type Impossible = (why: string) => FleetError;

/** The concerns after these records, which begin with the first of the audit. Throws as `ConcernReplay.take`. */
export function replay(records: Iterable<AuditRecord>): Map<string, Concern> {
  const concerns = createConcernReplay();
  for (const record of records) concerns.take(record);
  return new Map(concerns.listed);
}

export function createConcernReplay(): ConcernReplay {
  const listed = new Map<string, Concern>();
  const unlisted = new Map<string, Concern>();
  /** By audit record. */
  const open = new Map<number, Before>();

  const seed = (record: JsonObject, impossible: Impossible): void => {
    for (const concern of concernsOf(record['concerns'], impossible)) {
      listed.set(concern.id, concern);
      unlisted.delete(concern.id);
    }
    for (const id of listOf(record['removed'])) {
      const removed = typeof id === 'string' ? listed.get(id) : undefined;
      if (removed === undefined) continue;
      listed.delete(removed.id);
      unlisted.set(removed.id, removed);
    }
  };

  const end = (record: JsonObject, impossible: Impossible): void => {
    const { of } = record;
    const before = typeof of === 'number' ? open.get(of) : undefined;
    const now = before && (listed.get(before.id) ?? unlisted.get(before.id));
    if (typeof of !== 'number' || before === undefined || now === undefined)
      throw impossible('it is the outcome of no open apply');
    open.delete(of);
    if (record['outcome'] !== 'compensated') return;
    const restored = before.rev === undefined ? changed(record, now, impossible) : before;
    listed.set(before.id, { ...restored, rev: now.rev + 1 });
  };

  /** Begins anew with the state that an operator accepted. */
  const rebase = (record: JsonObject, impossible: Impossible): void => {
    for (const map of [listed, unlisted, open]) map.clear();
    for (const concern of concernsOf(record['concerns'], impossible)) listed.set(concern.id, concern);
    for (const concern of concernsOf(record['unlisted'], impossible)) unlisted.set(concern.id, concern);
    const { open: applies } = isJsonObject(record['decisions']) ? record['decisions'] : {};
    for (const each of listOf(applies)) {
      const { seq, concern_id: id } = isJsonObject(each) ? each : {};
      if (typeof seq === 'number' && typeof id === 'string') open.set(seq, { id, rev: undefined });
    }
  };

  return {
    listed,
    unlisted,
    take({ seq, record }) {
      const impossible = (why: string): FleetError =>
        new FleetError('INTERNAL', `audit record ${seq} cannot be replayed: ${why}`);
      switch (record['kind']) {
        case 'seed':
          return seed(record, impossible);
        case 'attempt': {
          if (record['status'] !== 'applied') return;
          const { before, after } = applied(record, listed, impossible);
          open.set(seq, before);
          listed.set(after.id, after);
          return;
        }
        case 'outcome':
          return end(record, impossible);
        case 'hold': {
          const held = heldBy(record, listed, impossible);
          listed.set(held.id, held);
          return;
        }
        case 'accept':
          return rebase(record, impossible);
        case 'status':
        case 'refusals':
        case 'books':
        case 'reset':
          return;
        default:
          throw impossible('its kind is unknown');
      }
    },
  };
}

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

function heldBy(record: JsonObject, concerns: ReadonlyMap<string, Concern>, impossible: Impossible): Concern {
  const { concern_id: id } = changeOf(record);
  const before = typeof id === 'string' ? concerns.get(id) : undefined;
  if (before === undefined) throw impossible('its concern does not exist, or its state is incomplete');
  const held = changed(record, before, impossible);
  if (held.rev !== before.rev + 1) throw impossible('it does not follow the revision before it');
  return { ...held, activeStrategyId: before.activeStrategyId };
}

const changeOf = ({ change }: JsonObject): JsonObject => (isJsonObject(change) ? change : {});

/** A concern with the `change` of a record. */
function changed(record: JsonObject, concern: Concern, impossible: Impossible): Concern {
  const { active_strategy_id: strategy, run_state, risk_mode, rev } = changeOf(record);
  const mode = RiskMode.safeParse(risk_mode);
  if (!mode.success || (run_state !== 'running' && run_state !== 'paused') || typeof rev !== 'number')
    throw impossible('its concern does not exist, or its state is incomplete');
  const activeStrategyId = typeof strategy === 'string' ? strategy : null;
  return { ...concern, activeStrategyId, runState: run_state, riskMode: mode.data, rev };
}

function concernsOf(list: unknown, impossible: Impossible): Concern[] {
  return listOf(list).map((wire) => {
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
