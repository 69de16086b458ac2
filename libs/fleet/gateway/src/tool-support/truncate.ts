import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';

/** Keeps the beginning of a text and says how many characters are left out. */
export function truncateText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}… [${text.length - max} characters more]`;
}

/** Keeps the first entries of a list, each truncated, and says how many are left out. */
export function truncateList(list: readonly string[], max: number, maxChars = 300): string[] {
  const more = list.length - max;
  const shown = list.slice(0, max).map((each) => truncateText(each, maxChars));
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}

/** The value itself, or the beginning of its JSON text. */
export function truncateJson(value: JsonValue, max: number): JsonValue {
  const json = JSON.stringify(value);
  return json.length <= max ? value : truncateText(json, max);
}

/** Truncates each field: a text as a text, anything else as its JSON text. */
export const truncateFields = (fields: Readonly<Record<string, JsonValue>>, max: number): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? truncateText(value, max) : truncateJson(value, max),
    ]),
  );
