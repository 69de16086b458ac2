import type { Concern, Strategy } from '@hermes-fleet/market';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import type { Difference } from '../control/audit-verifier.ts';
import type { AuditRecord } from '../control/control-store.ts';
import { createBookReplay, enginesIn, type StoredEngine } from './book-replay.ts';
import { canonical } from './canonical.ts';
import { createDecisionReplay } from './decision-replay.ts';
import { createConcernReplay } from './replay.ts';
import { changeRecord, strategyRecord } from './rows.ts';
import { concernsIn, strategiesIn, unlistedIn } from './tables.ts';

/** The small tables, as they were read at one time. */
export interface Tables {
  readonly concerns: readonly Concern[];
  readonly unlisted: readonly Concern[];
  readonly strategies: readonly Strategy[];
  readonly engines: readonly StoredEngine[];
}

export const readTables = (db: Queries): Tables => ({
  concerns: concernsIn(db),
  unlisted: unlistedIn(db),
  strategies: strategiesIn(db),
  engines: enginesIn(db),
});

/** Replays the audit, record by record, and compares the tables that its records make. */
export function createComparison() {
  const concerns = createConcernReplay();
  const decisions = createDecisionReplay();
  const books = createBookReplay();
  const strategies = new Map<string, JsonObject>();

  const takeStrategies = ({ seq, record }: AuditRecord): void => {
    if (record['kind'] === 'accept') strategies.clear();
    if (record['kind'] === 'status') {
      const id = String(record['strategy_id']);
      const known = strategies.get(id);
      if (known === undefined)
        throw new FleetError(
          'INTERNAL',
          `audit record ${seq} cannot be replayed: its strategy does not exist`,
        );
      strategies.set(id, { ...known, status: record['status'] ?? null });
    }
    const list = record['strategies'];
    for (const each of Array.isArray(list) ? list : [])
      if (isJsonObject(each)) strategies.set(String(each['id']), each);
  };

  return {
    decisions,
    books,
    /** Takes the next record. Throws INTERNAL for one that contradicts those before it. */
    takeRecord: (record: AuditRecord, db: Queries): Difference | undefined => {
      concerns.takeRecord(record);
      takeStrategies(record);
      return decisions.takeRecord(record, db) ?? books.takeRecord(record, db);
    },
    /** What differs in tables that were read after the last record that was taken. */
    ofTables: (tables: Tables): Difference | undefined =>
      compare(
        'concerns',
        byId(tables.concerns, concernRecord),
        byId(concerns.listed.values(), concernRecord),
      ) ??
      compare(
        'concerns',
        byId(tables.unlisted, concernRecord),
        byId(concerns.unlisted.values(), concernRecord),
      ) ??
      compare('strategies', byId(tables.strategies, strategyRecord), strategies) ??
      books.ofEngines(tables.engines),
    /** The same, of the tables that are compared in place. */
    inPlace: decisions.atEnd,
  };
}

/** A concern in an `accept` record, as a `seed` has it. */
export const concernRecord = (concern: Concern): JsonObject => ({
  ...changeRecord(concern),
  account_id: concern.accountId,
  market_symbol: concern.marketSymbol,
});

function byId<T extends { readonly id: string }>(
  all: Iterable<T>,
  recordOf: (each: T) => JsonObject,
): Map<string, JsonObject> {
  return new Map([...all].map((each) => [each.id, recordOf(each)]));
}

function compare(
  table: string,
  stored: ReadonlyMap<string, JsonObject>,
  replayed: ReadonlyMap<string, JsonObject>,
): Difference | undefined {
  for (const [row, wanted] of replayed) {
    const found = stored.get(row);
    if (found === undefined) return { table, row, reason: 'it is gone, and the audit has it' };
    const column = Object.keys(wanted).find((name) => textOf(found[name]) !== textOf(wanted[name]));
    if (column === undefined) continue;
    const reason = `its ${column} is ${textOf(found[column])}, and the audit says ${textOf(wanted[column])}`;
    return { table, row, reason: reason.slice(0, 300) };
  }
  const more = [...stored.keys()].find((row) => !replayed.has(row));
  return more === undefined ? undefined : { table, row: more, reason: 'the audit does not have it' };
}

const textOf = (value: JsonObject[string] | undefined): string => canonical(value ?? null);
