/** A fenced code block (CommonMark 0.31, section 4.5). */
export interface Fence {
  readonly info: string;
  /** The lines between the fences, each ended by a newline. */
  readonly content: string;
  readonly start: number;
  readonly end: number;
}

/** Matches every character once, so that a hostile line takes linear time. */
const OPENING = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;

/** The fenced blocks of a text in order. An unclosed block reaches to the end. */
export const fences = (text: string): Fence[] =>
  fencesAndText(text).flatMap((part) => (typeof part === 'string' ? [] : [part]));

/** The fenced blocks of a text and the lines between them, in order. */
export function fencesAndText(text: string): (Fence | string)[] {
  const found: (Fence | string)[] = [];
  let open: { mark: string; info: string; start: number; lines: string[] } | undefined;
  let start = 0;
  for (const raw of text.split('\n')) {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const end = start + raw.length + 1;
    if (open === undefined) {
      const [, mark, info] = OPENING.exec(line) ?? [];
      if (mark === undefined || info === undefined) found.push(line);
      else open = { mark, info: info.trim(), start, lines: [] };
    } else if (closes(line, open.mark)) {
      found.push(toFence(open, end));
      open = undefined;
    } else {
      open.lines.push(line);
    }
    start = end;
  }
  if (open !== undefined) found.push(toFence(open, text.length));
  return found;
}

function closes(line: string, mark: string): boolean {
  const text = line.trim();
  return text.length >= mark.length && text === (mark[0] ?? '').repeat(text.length);
}

const toFence = (
  { info, start, lines }: { info: string; start: number; lines: string[] },
  end: number,
): Fence => ({ info, content: lines.map((line) => `${line}\n`).join(''), start, end });
