export interface JsonMember {
  readonly name: string;
  /** The JSON text of the value. */
  readonly text: string;
}

/**
 * The members of a JSON object's text, in order. Keeps what `JSON.parse` loses: duplicate names, and numbers that
 * exceed a double. `text` must be valid JSON. Undefined when it is not an object.
 */
export const jsonMembers = (text: string): JsonMember[] | undefined => itemsOf(text, '{', '}');

/**
 * The JSON text of the value at a path of names and indexes. The last of duplicate names counts, as in `JSON.parse`.
 */
export function jsonAt(text: string, path: readonly (string | number)[]): string | undefined {
  let found: string | undefined = text;
  for (const part of path) {
    if (found === undefined) return undefined;
    found =
      typeof part === 'number'
        ? itemsOf(found, '[', ']')?.[part]?.text
        : jsonMembers(found)?.findLast(({ name }) => name === part)?.text;
  }
  return found;
}

/** The members of an object, or the items of an array, which have no names. */
function itemsOf(text: string, opening: '{' | '[', closing: '}' | ']'): JsonMember[] | undefined {
  let at = endOf(SPACE, text, 0);
  if (text[at] !== opening) return undefined;
  const items: JsonMember[] = [];
  at = endOf(SPACE, text, at + 1);
  while (text[at] !== closing) {
    let name = '';
    if (opening === '{') {
      const nameEnd = endOf(STRING, text, at);
      name = String(JSON.parse(text.slice(at, nameEnd)));
      at = endOf(SPACE, text, endOf(SPACE, text, nameEnd) + 1);
    }
    const end = valueEnd(text, at);
    items.push({ name, text: text.slice(at, end) });
    at = endOf(SPACE, text, end);
    if (text[at] === ',') at = endOf(SPACE, text, at + 1);
  }
  return items;
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,\]}]+/y;

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return endOf(STRING, text, start);
  if (text[start] !== '{' && text[start] !== '[') return endOf(SCALAR, text, start);
  let depth = 0;
  let at = start;
  do {
    const char = text[at];
    if (char === '"') {
      at = endOf(STRING, text, at);
      continue;
    }
    if (char === '{' || char === '[') depth += 1;
    if (char === '}' || char === ']') depth -= 1;
    at += 1;
  } while (depth > 0);
  return at;
}
