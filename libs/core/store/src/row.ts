import type { SQLOutputValue } from 'node:sqlite';
import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';

/** A row of SQLite. The functions that read its columns throw STORE_UNAVAILABLE for a value of another type. */
export type Row = Record<string, SQLOutputValue>;

function damaged(column: string): FleetError {
  return new FleetError(
    'STORE_UNAVAILABLE',
    `the database contains a row with an unreadable "${column}"; restore the file from a backup`,
  );
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw damaged(column);
  return value;
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw damaged(column);
  return value;
}

export function json(row: Row, column: string): JsonObject {
  const value = parseJson(text(row, column));
  if (!isJsonObject(value)) throw damaged(column);
  return value;
}

/** A value that is one of the keys of `known`. */
export function oneOf<T extends string>(row: Row, column: string, known: Readonly<Record<T, unknown>>): T {
  const value = text(row, column);
  const isKnown = (candidate: string): candidate is T => Object.hasOwn(known, candidate);
  if (!isKnown(value)) throw damaged(column);
  return value;
}

export const textOrNull = (row: Row, column: string): string | null =>
  row[column] === null ? null : text(row, column);
export const integerOrNull = (row: Row, column: string): number | null =>
  row[column] === null ? null : integer(row, column);
/** A column that is 1 for true. */
export const flag = (row: Row, column: string): boolean => integer(row, column) === 1;

/** How each column of a row is read, by its name. */
export type Columns<T> = { readonly [K in keyof T]: (row: Row, column: string) => T[K] };

/** Reads columns of rows, in a value with their names. */
export function rowReader<T>(columns: Columns<T>): (row: Row) => T {
  const readers = Object.entries<(row: Row, column: string) => unknown>(columns);
  return (row) => Object.fromEntries(readers.map(([column, read]) => [column, read(row, column)])) as T;
}
