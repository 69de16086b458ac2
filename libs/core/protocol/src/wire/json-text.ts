export interface JsonMember {
  readonly name: string;
  /** The JSON text of the value. */
  readonly text: string;
}

/**
 * The members of a JSON object's text, in order. Keeps what `JSON.parse` loses: duplicate names, and numbers that
 * exceed a double. `text` must be valid JSON. Undefined when it is not an object.
 */
export function jsonMembers(text: string): JsonMember[] | undefined {
  let at = skip(text, 0);
  if (text[at] !== '{') return undefined;
  const members: JsonMember[] = [];
  at = skip(text, at + 1);
  while (text[at] !== '}') {
    const nameEnd = stringEnd(text, at);
    const name: unknown = JSON.parse(text.slice(at, nameEnd));
    const start = skip(text, skip(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    members.push({ name: String(name), text: text.slice(start, end) });
    at = skip(text, end);
    if (text[at] === ',') at = skip(text, at + 1);
  }
  return members;
}

/**
 * The JSON text of the value at a path of names and indexes. The last of duplicate names counts, as in `JSON.parse`.
 */
export function jsonAt(text: string, path: readonly (string | number)[]): string | undefined {
  let found: string | undefined = text;
  for (const part of path) {
    if (found === undefined) return undefined;
    found =
      typeof part === 'number'
        ? jsonItems(found)?.[part]
        : jsonMembers(found)?.findLast(({ name }) => name === part)?.text;
  }
  return found;
}

function jsonItems(text: string): string[] | undefined {
  let at = skip(text, 0);
  if (text[at] !== '[') return undefined;
  const items: string[] = [];
  at = skip(text, at + 1);
  while (text[at] !== ']') {
    const end = valueEnd(text, at);
    items.push(text.slice(at, end));
    at = skip(text, end);
    if (text[at] === ',') at = skip(text, at + 1);
  }
  return items;
}

const SPACE = /[ \t\n\r]*/y;
function skip(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
function stringEnd(text: string, at: number): number {
  STRING.lastIndex = at;
  STRING.test(text);
  return STRING.lastIndex;
}

const SCALAR = /[^\s,\]}]+/y;
function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  if (text[start] !== '{' && text[start] !== '[') {
    SCALAR.lastIndex = start;
    SCALAR.test(text);
    return SCALAR.lastIndex;
  }
  let depth = 0;
  let at = start;
  do {
    const char = text[at];
    if (char === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (char === '{' || char === '[') depth += 1;
    if (char === '}' || char === ']') depth -= 1;
    at += 1;
  } while (depth > 0);
  return at;
}
