import { letterPairs, sharedPairs } from '../../messages/letter-pairs.ts';

/** The part of a file that is most like a text that the file does not have. */
interface CloseText {
  /** `line 7` or `lines 7-9`. */
  readonly where: string;
  /** Its lines as they are in the file, limited in number and length. */
  readonly text: string;
  /** True when it differs in white space only. */
  readonly isWhitespace: boolean;
}

const MAX_LINES = 50_000;
const MAX_COMPARED_CHARS = 300;
const MAX_VOTES = 200_000;
const MAX_SHOWN_LINES = 15;
const MAX_SHOWN_CHARS = 300;
/** Two lines with fewer of their letter pairs in common are not alike. */
const ALIKE = 0.6;

/** The lines that have most lines in common with the text, else the line most like its longest. Undefined for none. */
export function closestText(content: string, text: string): CloseText | undefined {
  const lines = content.split('\n', MAX_LINES);
  const plain = lines.map(plainly);
  const wanted = withoutBlankEnds(text.split('\n').map(plainly));
  const best = mostLines(plain, wanted) ?? mostAlike(plain, wanted);
  if (best === undefined) return undefined;
  const { start, count } = best;
  const shown = lines.slice(start, start + Math.min(count, MAX_SHOWN_LINES)).map(cutLine);
  const isWhitespace = count === wanted.length && wanted.every((line, at) => plain[start + at] === line);
  return {
    where: count === 1 ? `line ${start + 1}` : `lines ${start + 1}-${start + count}`,
    text: [...shown, ...(count > MAX_SHOWN_LINES ? ['[…]'] : [])].join('\n'),
    isWhitespace,
  };
}

/** The lines from the first to the last that is not blank; one blank line when all are. */
function withoutBlankEnds(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line !== '');
  return first === -1 ? [''] : lines.slice(first, lines.findLastIndex((line) => line !== '') + 1);
}

interface Place {
  readonly start: number;
  readonly count: number;
}

/** Each line of the text that the file has votes for the place where the text would begin. */
function mostLines(lines: readonly string[], wanted: readonly string[]): Place | undefined {
  const offsets = new Map<string, number[]>();
  for (const [at, line] of wanted.entries()) {
    // Lines such as `}` are everywhere.
    if (line.length < 3 && wanted.length > 1) continue;
    const known = offsets.get(line);
    if (known === undefined) offsets.set(line, [at]);
    else known.push(at);
  }
  const votes = new Map<number, number>();
  let cast = 0;
  for (const [at, line] of lines.entries()) {
    for (const offset of offsets.get(line) ?? []) {
      if (offset > at || cast >= MAX_VOTES) break;
      cast += 1;
      votes.set(at - offset, (votes.get(at - offset) ?? 0) + 1);
    }
  }
  let best: { start: number; votes: number } | undefined;
  for (const [start, count] of votes) if (count > (best?.votes ?? 0)) best = { start, votes: count };
  return best && { start: best.start, count: Math.min(wanted.length, lines.length - best.start) };
}

function mostAlike(lines: readonly string[], wanted: readonly string[]): Place | undefined {
  const longest = wanted.reduce((a, b) => (b.length > a.length ? b : a), '');
  const offset = wanted.indexOf(longest);
  const pairs = letterPairs(cutOff(longest));
  if (pairs.size === 0) return undefined;
  let best = { at: -1, share: ALIKE };
  for (const [at, line] of lines.entries()) {
    const length = Math.min(line.length, MAX_COMPARED_CHARS);
    if (length < pairs.size * ALIKE * 0.5) continue;
    const share = sharedPairs(pairs, letterPairs(cutOff(line)));
    if (share > best.share) best = { at, share };
  }
  if (best.at === -1) return undefined;
  const start = Math.max(0, best.at - offset);
  return { start, count: Math.min(wanted.length, lines.length - start) };
}

/** The line without its indentation and trailing space, every other space as one. */
const plainly = (line: string): string =>
  (line.length > MAX_COMPARED_CHARS * 2 ? line.slice(0, MAX_COMPARED_CHARS * 2) : line)
    .replace(/\s+/g, ' ')
    .trim();

const cutOff = (line: string): string => line.slice(0, MAX_COMPARED_CHARS);

const cutLine = (line: string): string => {
  const whole = line.replace(/\r$/, '');
  return whole.length > MAX_SHOWN_CHARS ? `${whole.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…` : whole;
};
