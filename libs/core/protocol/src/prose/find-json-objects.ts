export interface FoundObject {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly type: string;
}

/** A handshake message is never deeper. */
const MAX_DEPTH = 128;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

interface Frame {
  readonly start: number;
  readonly closing: '}' | ']';
  /** The `type` of an object, if it was read and is wanted. */
  type: string | undefined;
}

/**
 * Finds the JSON objects in a text whose `type` is in `wanted`, in order. An object inside another match is omitted, and
 * text around the objects is skipped. A syntax error ends every open object, and the search continues after it. Takes
 * linear time for any text.
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
 * Scans one JSON object from its opening brace. Returns where the search continues: after the object, or at a syntax
 * error. If the error follows a string, the search continues inside that string, because its opening quote may have been
 * ordinary text before an object.
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

/** Returns the start of the value of the member at `at`; undefined if there is no key with a colon. */
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

/** Returns the position after the JSON string that starts at `at`; undefined if there is no string. */
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
