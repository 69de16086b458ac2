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
    range(said, schema.minProperties, schema.maxProperties, ' fields'),
    schema.uniqueItems === true ? 'no item twice' : undefined,
    ...numbers(said, schema),
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

/** Draft 4 has `true` for an exclusive bound, later ones the bound itself. */
function numbers(said: string, schema: JsonObject): (string | undefined)[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const [least, above] = exclusiveMinimum === true ? [undefined, minimum] : [minimum, exclusiveMinimum];
  const [most, below] = exclusiveMaximum === true ? [undefined, maximum] : [maximum, exclusiveMaximum];
  const told = (words: string, bound: JsonValue | undefined): string | undefined => {
    const number = untold(said, bound);
    return number === undefined ? undefined : `${words} ${number}`;
  };
  return [
    range(said, least, most, ''),
    told('more than', above),
    told('less than', below),
    told('a multiple of', schema.multipleOf),
  ];
}

/** Undefined where there is no bound, or where the text has every number of it. */
function range(
  said: string,
  low: JsonValue | undefined,
  high: JsonValue | undefined,
  unit: string,
): string | undefined {
  // Nobody has to be told that a text or a list that is given is not empty.
  const least = unit !== '' && (low === 0 || low === 1) ? undefined : untold(said, low);
  const most = untold(said, high);
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (most !== undefined) return `at most ${most}${unit}`;
  return least === undefined ? undefined : `at least ${least}${unit}`;
}

function untold(said: string, bound: JsonValue | undefined): number | undefined {
  if (typeof bound !== 'number' || Math.abs(bound) >= Number.MAX_SAFE_INTEGER) return undefined;
  const numbers: readonly string[] = said.replace(/(?<=\d),(?=\d{3})/g, '').match(/-?\d+(?:\.\d+)?/g) ?? [];
  return numbers.includes(String(bound)) ? undefined : bound;
}

function quoted(said: string, label: string, value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || isJsonObject(value)) return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === '' || text.length > MAX_QUOTED_CHARS || said.includes(text)) return undefined;
  return `${label}${text}`;
}
