/** An object that stands in a text, and its `type`. */
export interface FoundObject {
  readonly start: number;
  /** Behind its last character. */
  readonly end: number;
  readonly type: string;
}

/** Deeper JSON is no handshake message. */
const MAX_DEPTH = 128;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

interface Frame {
  readonly start: number;
  readonly closing: '}' | ']';
  /** Of an object: its `type`, once seen, as far as it is one of those wanted. */
  type: string | undefined;
}

/**
 * The JSON objects in a text whose `type` is one of `wanted`, in order; one inside another of them is left out. Any
 * text between, before and after is passed over. A wrong character ends every object that is open around it, and the
 * search goes on behind: the time is linear in the length of the text, whatever it is.
 */
export function findObjects(text: string, wanted: ReadonlySet<string>): FoundObject[] {
  const found: FoundObject[] = [];
  let at = text.indexOf('{');
  while (at >= 0) {
    const resume = scanFrom(text, at, wanted, found);
    at = text.indexOf('{', resume);
  }
  return found;
}

/**
 * Reads one JSON object from its opening brace on. Gives the place where the search goes on: behind it, or where it
 * broke. A string may have swallowed the start of an object, where its opening quote was none of JSON's: what breaks
 * behind a string is searched again from inside that string.
 */
function scanFrom(text: string, from: number, wanted: ReadonlySet<string>, found: FoundObject[]): number {
  const frames: Frame[] = [];
  let at = open(frames, text, from);
  let mayClose = true;
  for (;;) {
    const frame = frames.at(-1);
    if (!frame) return at;
    let retryAt: number;
    if (mayClose && text[at] === frame.closing) {
      frames.pop();
      at += 1;
      retryAt = at;
      if (frame.type !== undefined) keep(found, { start: frame.start, end: at, type: frame.type });
    } else {
      const value = frame.closing === '}' ? memberValue(text, at) : at;
      if (value === undefined) return text[at] === '{' ? at : at + 1;
      if (text[value] === '{' || text[value] === '[') {
        if (frames.length >= MAX_DEPTH) return text[value] === '{' ? value : value + 1;
        at = open(frames, text, value);
        mayClose = true;
        continue;
      }
      const end = text[value] === '"' ? stringEnd(text, value) : bareEnd(text, value);
      if (end === undefined) return text[value] === '{' ? value : value + 1;
      if (text.startsWith('"type"', at)) frame.type = wantedType(text, value, end, wanted);
      retryAt = text[value] === '"' ? value + 1 : end;
      at = end;
    }
    const around = frames.at(-1);
    at = around ? skip(SPACE, text, at) : at;
    mayClose = text[at] !== ',';
    if (around && !mayClose) at = skip(SPACE, text, at + 1);
    else if (around && text[at] !== around.closing) return retryAt;
  }
}

function open(frames: Frame[], text: string, at: number): number {
  frames.push({ start: at, closing: text[at] === '{' ? '}' : ']', type: undefined });
  return skip(SPACE, text, at + 1);
}

/** Where the value of the member at `at` starts; undefined where there is no key with a colon. */
function memberValue(text: string, at: number): number | undefined {
  const end = stringEnd(text, at);
  if (end === undefined) return undefined;
  const colon = skip(SPACE, text, end);
  return text[colon] === ':' ? skip(SPACE, text, colon + 1) : undefined;
}

function keep(found: FoundObject[], object: FoundObject): void {
  while ((found.at(-1)?.start ?? -1) > object.start) found.pop();
  found.push(object);
}

function wantedType(
  text: string,
  start: number,
  end: number,
  wanted: ReadonlySet<string>,
): string | undefined {
  if (end - start > 40) return undefined;
  const value = text.slice(start + 1, end - 1);
  return wanted.has(value) ? value : undefined;
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

function bareEnd(text: string, at: number): number | undefined {
  const char = text[at] ?? '';
  const end = skip(char === '-' || (char >= '0' && char <= '9') ? NUMBER : WORD, text, at);
  return end > at ? end : undefined;
}

/** Behind the closing quote of the JSON string that starts at `at`; undefined where none does. */
function stringEnd(text: string, at: number): number | undefined {
  if (text[at] !== '"') return undefined;
  for (let index = at + 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x22) return index + 1;
    if (code === 0x5c) index += 1;
    else if (code < 0x20) return undefined;
  }
  return undefined;
}
