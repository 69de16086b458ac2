import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

const MAX_QUOTED_CHARS = 80;

/** A schema's description, with `more`, and the bounds that are not sent (`sent-schema.ts`) and that it does not mention. */
export function describedBounds(
  schema: JsonObject,
  more: readonly (string | undefined)[] = [],
): string | undefined {
  const said = typeof schema.description === 'string' ? schema.description.trim() : '';
  const bounds = [
    range(said, schema.minLength, schema.maxLength, ' characters'),
    range(said, schema.minItems, schema.maxItems, ' items'),
    range(said, lowest(schema), highest(schema), ''),
    quoted(said, 'matches ', schema.pattern),
    quoted(said, 'format: ', schema.format),
    /default/i.test(said) ? undefined : quoted(said, 'default: ', schema.default),
    ...more.filter((rule) => rule !== undefined && !said.includes(rule)),
  ].filter((bound) => bound !== undefined);
  if (bounds.length === 0) return said || undefined;
  return said === '' ? bounds.join('; ') : `${said} (${bounds.join('; ')})`;
}

/** The allowed values that are not sent, of which `sent` are. */
export function valuesInWords(allowed: readonly JsonValue[], sent: readonly JsonValue[]): string | undefined {
  if (sent.length > 0) return allowed.includes('') ? 'may be empty' : undefined;
  const values = allowed.filter((value) => value !== null).map((value) => JSON.stringify(value));
  if (values.length === 0) return undefined;
  return `${values.length === 1 ? 'only' : 'one of'} ${values.join(', ')}`;
}

const lowest = ({ minimum, exclusiveMinimum }: JsonObject): JsonValue | undefined =>
  minimum ?? exclusiveMinimum;
const highest = ({ maximum, exclusiveMaximum }: JsonObject): JsonValue | undefined =>
  maximum ?? exclusiveMaximum;

/** Undefined where there is no bound, or where the text has every number of it. */
function range(
  said: string,
  low: JsonValue | undefined,
  high: JsonValue | undefined,
  unit: string,
): string | undefined {
  // Nobody has to be told that a text or a list that is given is not empty.
  const least =
    unit !== '' && (low === 0 || low === 1) ? undefined : untold(said, low, Number.MIN_SAFE_INTEGER);
  const most = untold(said, high, Number.MAX_SAFE_INTEGER);
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (most !== undefined) return `at most ${most}${unit}`;
  return least === undefined ? undefined : `at least ${least}${unit}`;
}

function untold(said: string, bound: JsonValue | undefined, none: number): number | undefined {
  if (typeof bound !== 'number' || bound === none) return undefined;
  const numbers: readonly string[] = said.replace(/(?<=\d),(?=\d{3})/g, '').match(/-?\d+(?:\.\d+)?/g) ?? [];
  return numbers.includes(String(bound)) ? undefined : bound;
}

function quoted(said: string, label: string, value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || isJsonObject(value)) return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === '' || text.length > MAX_QUOTED_CHARS || said.includes(text)) return undefined;
  return `${label}${text}`;
}
