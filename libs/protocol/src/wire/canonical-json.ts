import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';

/** Members to leave out, by key: the whole member, or members of its object. */
export type Omitted = ReadonlyMap<string, 'all' | Omitted>;

/** Longer lists of keys are left to `sort`, whose time grows more slowly with their length. */
const FEW_KEYS = 32;

/**
 * The canonical form of a parsed JSON object (RFC 8785), without the members `omitted`. Throws for a lone surrogate and for
 * a number that exceeds a double. It recurses: an object that is much deeper than the border allows
 * (docs/handshake.md#fields-and-limits) exhausts the stack, which throws a RangeError.
 */
export function canonicalJson(object: JsonObject, omitted?: Omitted): string {
  let text = '';
  for (const key of sorted(Object.keys(object))) {
    const value = object[key];
    const left = omitted?.get(key);
    if (value === undefined || left === 'all') continue;
    text += text === '' ? '{' : ',';
    text += quoted(key);
    text += ':';
    text += textOf(value, left);
  }
  return text === '' ? '{}' : `${text}}`;
}

function textOf(value: JsonValue, omitted?: Omitted): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map((item) => textOf(item)).join(',')}]`;
  if (isJsonObject(value)) return canonicalJson(value, omitted);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('a number exceeds a double');
  return JSON.stringify(value);
}

function quoted(text: string): string {
  if (!text.isWellFormed()) throw new Error('a string has a lone surrogate');
  return JSON.stringify(text);
}

/** Sorts by UTF-16 code units. For few keys this allocates nothing, where `sort` copies them. */
function sorted(keys: string[]): string[] {
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let end = 1; end < keys.length; end += 1) {
    const key = keys[end] ?? '';
    let at = end;
    for (let before = keys[at - 1]; before !== undefined && before > key; before = keys[at - 1]) {
      keys[at] = before;
      at -= 1;
    }
    keys[at] = key;
  }
  return keys;
}
