/** An output above this is summarised, however few lines it has. */
const MAX_BYTES = 8 * 1024;
const FIRST_LINES = 5;
const LAST_LINES = 10;
/** Of each line that is shown, so that a summary stays below what it spares. */
const MAX_LINE_CHARS = 300;

export interface Measure {
  readonly lines: number;
  readonly bytes: number;
}

export function measure(text: string): Measure {
  return { lines: text === '' ? 0 : linesOf(text).length, bytes: Buffer.byteLength(text) };
}

/** Whether an output is to be summarised: by its lines, or by its bytes. */
export function isLong(text: string, limits: { readonly lines: number }): boolean {
  const { lines, bytes } = measure(text);
  return lines > limits.lines || bytes > MAX_BYTES;
}

/** What there was, where the whole of it is, its first lines and its last ones: fewer than 20 lines, below 8 kB. */
export function summarise(what: string, text: string, kept: string): string {
  const lines = linesOf(text);
  const { bytes } = measure(text);
  const head = `${what} (${count(lines.length, 'line')} of output, ${bytes} bytes; ${kept}).`;
  if (lines.length <= FIRST_LINES + LAST_LINES) return [head, ...lines.map(short)].join('\n');
  return [
    `${head} First ${FIRST_LINES} lines:`,
    ...lines.slice(0, FIRST_LINES).map(short),
    `[… ${count(lines.length - FIRST_LINES - LAST_LINES, 'line')} left out; the last ${LAST_LINES}:]`,
    ...lines.slice(-LAST_LINES).map(short),
  ].join('\n');
}

export function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines;
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

/** The beginning and the end of a long line. */
function short(line: string): string {
  if (line.length <= MAX_LINE_CHARS) return line;
  const half = MAX_LINE_CHARS / 2;
  return `${line.slice(0, half)} [… ${line.length - 2 * half} characters …] ${line.slice(-half)}`;
}
