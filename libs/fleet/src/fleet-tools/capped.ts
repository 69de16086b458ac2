import type { JsonValue } from '@hermes-fleet/protocol';

/** The beginning of a text, and how much of it is not shown. */
export function cappedText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}… [${text.length - max} characters more]`;
}

/** The first of a list, each cut short, and how many are not shown. */
export function cappedList(list: readonly string[], max: number, maxChars = 300): string[] {
  const more = list.length - max;
  const shown = list.slice(0, max).map((each) => cappedText(each, maxChars));
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}

/** A value as it is, or the beginning of its JSON. */
export function cappedJson(value: JsonValue, max: number): JsonValue {
  const json = JSON.stringify(value);
  return json.length <= max ? value : cappedText(json, max);
}
