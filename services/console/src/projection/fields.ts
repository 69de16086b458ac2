import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** The maximum length of a name, an id or a code that is kept from an event. */
const MAX_TEXT = 256;
const MAX_ITEMS = 50;
const MAX_DEPTH = 4;
/** The maximum size of the data of an event in the timeline. */
const MAX_DATA_CHARS = 4_096;

/** A text of an event, cut; null for anything else. */
export function textIn(value: unknown, max = MAX_TEXT): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, max).toWellFormed() : null;
}

/** The maximum of a number that is kept: sums of thousands of them can still be read from SQLite. */
const MAX_COUNT = 1e12;

/** A whole number of an event, from 0 to a million millions; null for anything else. */
export function countIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_COUNT
    ? value
    : null;
}

/** A time of an event, ms since the epoch; null for anything else. */
export function timeIn(value: unknown): number | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isSafeInteger(at) && at >= 0 ? at : null;
}

/** The objects of a list of an event, at most fifty. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.slice(0, MAX_ITEMS).filter(isJsonObject) : [];
}

/** The texts of a list of an event, at most fifty. */
export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.slice(0, MAX_ITEMS).flatMap((each) => textIn(each) ?? []) : [];
}

/**
 * The data of an event for the timeline: values as they are, with long texts and lists cut and deep values left out. Data
 * that is still too long is replaced by a note.
 */
export function boundedData(data: Readonly<Record<string, unknown>>): JsonObject {
  const bounded = cut(data, 0);
  const object = isJsonObject(bounded) ? bounded : {};
  return JSON.stringify(object).length > MAX_DATA_CHARS ? { left_out: 'too long' } : object;
}

function cut(value: unknown, depth: number): JsonValue {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT).toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((each) => cut(each, depth + 1));
  const entries = Object.entries(value)
    .slice(0, MAX_ITEMS)
    .map(([key, each]): [string, JsonValue] => [key.slice(0, 64).toWellFormed(), cut(each, depth + 1)]);
  return Object.fromEntries(entries);
}
