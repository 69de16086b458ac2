import { linesOf } from '../messages/text.ts';

/** Shares of the byte limit for the head and the tail. The rest is for lines of the middle. */
const HEAD_SHARE = 0.375;
const TAIL_SHARE = 0.375;
/** Bytes reserved for the marker between the parts. */
const FRAME_BYTES = 400;
/** Lines that report errors, and the number of lines shown after each. */
const MATTERS = /error|fail|✖|✗|✘|×|\bnot ok\b|assert|Traceback|panic|exception|\bat \S+:\d+/i;
const BEHIND = 2;
const MAX_LINE_BYTES = 500;

/** Shortens a text to its head, its tail, and lines between them that report errors. `kept` says where the full one is. */
export function capText(text: string, maxBytes: number, kept: string | undefined): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const where = kept === undefined ? '' : `; ${kept}`;
  const room = Math.max(0, maxBytes - FRAME_BYTES - Buffer.byteLength(where));
  const head = upTo(bytes, Math.floor(room * HEAD_SHARE));
  const tail = from(bytes, Math.floor(room * TAIL_SHARE));
  const middle = bytes
    .subarray(Buffer.byteLength(head), bytes.length - Buffer.byteLength(tail))
    .toString('utf8');
  const spare = room - Buffer.byteLength(head) - Buffer.byteLength(tail);
  const found = telling(middle, Math.min(spare, Math.ceil(room * (1 - HEAD_SHARE - TAIL_SHARE))));
  const cut = `[… ${Buffer.byteLength(middle)} bytes of ${bytes.length} left out${where}${found === '' ? '' : '; lines of them that may matter:'} …]`;
  const whole = [head, cut, ...(found === '' ? [] : [found, '[…]']), tail].join('\n');
  // If the marker does not fit, show the head alone.
  return Buffer.byteLength(whole) <= maxBytes ? whole : upTo(bytes, maxBytes);
}

/** At most `max` first bytes, cut at a line end if one is in the second half, and never inside a character. */
function upTo(bytes: Buffer, max: number): string {
  let end = Math.min(max, bytes.length);
  const line = bytes.subarray(0, end).lastIndexOf('\n');
  if (line > end / 2) return bytes.subarray(0, line).toString('utf8');
  while (end > 0 && isInside(bytes, end)) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}

function from(bytes: Buffer, max: number): string {
  let start = Math.max(0, bytes.length - max);
  const line = bytes.indexOf('\n', start);
  if (line !== -1 && line + 1 < bytes.length - max / 2) return bytes.subarray(line + 1).toString('utf8');
  while (start < bytes.length && isInside(bytes, start)) start += 1;
  return bytes.subarray(start).toString('utf8');
}

/** True for a UTF-8 continuation byte, where a cut would split a character. */
const isInside = (bytes: Buffer, at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;

/** The first lines that report errors, with the lines after them, without repetitions. */
function telling(text: string, maxBytes: number): string {
  const shown: string[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  let behind = 0;
  for (const raw of linesOf(text)) {
    const matters = MATTERS.test(raw.length > MAX_LINE_BYTES ? raw.slice(0, MAX_LINE_BYTES) : raw);
    behind = matters ? BEHIND : behind - 1;
    if (!matters && behind < 0) continue;
    const line = upTo(Buffer.from(raw), MAX_LINE_BYTES);
    if (seen.has(line) || line.trim() === '') continue;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) break;
    seen.add(line);
    shown.push(line);
  }
  return shown.join('\n');
}

/** An output above this size is summarized regardless of its lines. */
const MAX_BYTES = 8 * 1024;
const FIRST_LINES = 5;
const LAST_LINES = 10;
/** Limit for each line shown, so that a summary stays shorter than the output. */
const MAX_LINE_CHARS = 300;

interface Measure {
  readonly lines: number;
  readonly bytes: number;
}

/** Counts without splitting the text, which may have millions of lines. */
export function measure(text: string): Measure {
  let lines = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return { lines, bytes: Buffer.byteLength(text) };
}

export function isLong(text: string, limits: { readonly lines: number }): boolean {
  const { lines, bytes } = measure(text);
  return lines > limits.lines || bytes > MAX_BYTES;
}

/** A summary below 20 lines and 8 kB: size, location of the full text, and the first and last lines. */
export function summarize(what: string, text: string, kept: string): string {
  const { lines, bytes } = measure(text);
  const head = `${what} (${count(lines, 'line')} of output, ${bytes} bytes; ${kept}).`;
  if (lines <= FIRST_LINES + LAST_LINES) return [head, ...linesOf(text).map(short)].join('\n');
  return [
    `${head} First ${FIRST_LINES} lines:`,
    ...linesOf(text).take(FIRST_LINES).map(short),
    `[… ${count(lines - FIRST_LINES - LAST_LINES, 'line')} left out; the last ${LAST_LINES}:]`,
    ...lastLines(text, LAST_LINES).map(short),
  ].join('\n');
}

function lastLines(text: string, wanted: number): string[] {
  const found: string[] = [];
  let end = text.endsWith('\n') ? text.length - 1 : text.length;
  while (found.length < wanted && end >= 0) {
    const before = end === 0 ? -1 : text.lastIndexOf('\n', end - 1);
    found.unshift(text.slice(before + 1, end));
    end = before;
  }
  return found;
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

/** Shortens a long line to its beginning and its end. */
function short(line: string): string {
  if (line.length <= MAX_LINE_CHARS) return line;
  const half = MAX_LINE_CHARS / 2;
  return `${line.slice(0, half)} [… ${line.length - 2 * half} characters …] ${line.slice(-half)}`;
}
