/** An output above this size is summarized regardless of its lines. */
const MAX_BYTES = 8 * 1024;
const FIRST_LINES = 5;
const LAST_LINES = 10;
/** Limit for each line shown, so that a summary stays shorter than the output. */
const MAX_LINE_CHARS = 300;

export interface Measure {
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
  if (lines <= FIRST_LINES + LAST_LINES) return [head, ...firstLines(text, lines).map(short)].join('\n');
  return [
    `${head} First ${FIRST_LINES} lines:`,
    ...firstLines(text, FIRST_LINES).map(short),
    `[… ${count(lines - FIRST_LINES - LAST_LINES, 'line')} left out; the last ${LAST_LINES}:]`,
    ...lastLines(text, LAST_LINES).map(short),
  ].join('\n');
}

function firstLines(text: string, wanted: number): string[] {
  const found: string[] = [];
  for (let start = 0; found.length < wanted && start < text.length; ) {
    const end = text.indexOf('\n', start);
    found.push(text.slice(start, end === -1 ? text.length : end));
    start = end === -1 ? text.length : end + 1;
  }
  return found;
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
