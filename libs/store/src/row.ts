import type { SQLOutputValue } from 'node:sqlite';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

/** One row as SQLite gives it. What reads its columns throws STORE_UNAVAILABLE for one that is not of its type. */
export type Row = Record<string, SQLOutputValue>;

function broken(column: string): FleetError {
  return new FleetError(
    'STORE_UNAVAILABLE',
    `the database holds a row whose "${column}" cannot be read; restore the file from a backup`,
  );
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw broken(column);
  return value;
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw broken(column);
  return value;
}

export function json(row: Row, column: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text(row, column));
  } catch {
    throw broken(column);
  }
  if (!isJsonObject(value)) throw broken(column);
  return value;
}

/** One of the words that are known, or STORE_UNAVAILABLE. */
export function oneOf<T extends string>(row: Row, column: string, known: Readonly<Record<T, true>>): T {
  const value = text(row, column);
  const isKnown = (candidate: string): candidate is T => Object.hasOwn(known, candidate);
  if (!isKnown(value)) throw broken(column);
  return value;
}
