import type { Concern } from '@hermes-fleet/market';
import { camelize, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { RiskMode, readControlDecision } from '@hermes-fleet/protocol/control';
import { z } from 'zod';
import { nextState } from '../control/actions.ts';
import type { AuditRecord } from '../control/control-store.ts';
import type { AuditKind } from './control-transaction.ts';

/** The state before an applied decision without an outcome, or only its concern if an operator accepted the state after it. */
type Before = Concern | { readonly id: string; readonly rev: undefined };

type Impossible = (why: string) => FleetError;

/** The concerns after these records, which begin with the first of the audit. Throws as `takeRecord`. */
export function replay(records: Iterable<AuditRecord>): Map<string, Concern> {
  const concerns = createConcernReplay();
  for (const record of records) concerns.takeRecord(record);
  return new Map(concerns.listed);
}

/** Rebuilds the concerns from the audit: applies the seeds and the recorded payloads again (docs/trader.md#audit). */
export function createConcernReplay() {
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

  const attempt = (record: JsonObject, impossible: Impossible, seq: number): void => {
    if (record['status'] !== 'applied') return;
    const { before, after } = applied(record, listed, impossible);
    open.set(seq, before);
    listed.set(after.id, after);
  };

  const hold = (record: JsonObject, impossible: Impossible): void => {
    const held = heldBy(record, listed, impossible);
    listed.set(held.id, held);
  };

  /** What the records of each kind do to concerns. */
  const effects: Readonly<Record<AuditKind, typeof attempt | undefined>> = {
    seed,
    attempt,
    outcome: end,
    hold,
    accept: rebase,
    status: undefined,
    refusals: undefined,
    books: undefined,
    reset: undefined,
  };

  return {
    /** The concerns that trader.yaml lists. */
    listed,
    /** Those that it lists no more. */
    unlisted,
    /** Takes the next record. Throws INTERNAL for one that contradicts those before it. */
    takeRecord({ seq, record }: AuditRecord): void {
      const impossible = (why: string): FleetError =>
        new FleetError('INTERNAL', `audit record ${seq} cannot be replayed: ${why}`);
      const kind = String(record['kind']);
      if (!Object.hasOwn(effects, kind)) throw impossible('its kind is unknown');
      effects[kind as AuditKind]?.(record, impossible, seq);
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
  const id = Change.safeParse(record['change']).data?.concern_id;
  const before = id === undefined ? undefined : concerns.get(id);
  if (before === undefined) throw impossible(INCOMPLETE);
  const held = changed(record, before, impossible);
  if (held.rev !== before.rev + 1) throw impossible('it does not follow the revision before it');
  return { ...held, activeStrategyId: before.activeStrategyId };
}

const INCOMPLETE = 'its concern does not exist, or its state is incomplete';

/** The state of a concern as `changeRecord` writes it. */
const Change = z.object({
  active_strategy_id: z.string().nullable(),
  concern_id: z.string(),
  rev: z.number(),
  risk_mode: RiskMode,
  run_state: z.enum(['running', 'paused']),
});
const Listed = Change.extend({ account_id: z.string(), market_symbol: z.string() });

/** A concern with the `change` of a record. */
function changed(
  { change }: JsonObject,
  { id, accountId, marketSymbol }: Concern,
  impossible: Impossible,
): Concern {
  const { success, data } = Change.safeParse(change);
  if (!success) throw impossible(INCOMPLETE);
  const { concernId: _, ...state } = camelize(Change, data);
  return { id, accountId, marketSymbol, ...state };
}

function concernsOf(list: unknown, impossible: Impossible): Concern[] {
  return listOf(list).map((wire) => {
    const { success, data } = Listed.safeParse(wire);
    if (!success) throw impossible('one of its concerns is incomplete');
    const { concernId: id, ...concern } = camelize(Listed, data);
    return { id, ...concern };
  });
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
