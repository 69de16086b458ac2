import type { BookEntry } from '@hermes-fleet/market';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

const iso = (ms: number): string => new Date(ms).toISOString();

/** The stored form of an entry, with its names in order. `decisionId` is what `rev` leads to; `recordedAt` in ms since the epoch. */
export const bookRecord = (
  { n: _n, rev: _rev, at, ...entry }: BookEntry,
  { decisionId, recordedAt }: { readonly decisionId: string | null; readonly recordedAt: number },
): JsonObject => recordOf({ ...entry, at: iso(at), decisionId, recordedAt: iso(recordedAt) });

/** The fields that have a value, in snake_case and in the order of their names. */
export const recordOf = (fields: object): JsonObject =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [snake(name), isJsonObject(value) ? recordOf(value) : value])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
