/** A fenced block of a Markdown text. */
export interface Fence {
  /** What stands after the opening fence. */
  readonly info: string;
  /** The lines between the fences, each ended by a newline. */
  readonly content: string;
}

/** The mark is taken whole and nothing matches twice, so that no line of a brief takes more than linear time. */
const OPENING = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;

/** The fenced blocks of a text in order; one that is never closed reaches to the end. */
export function fences(text: string): Fence[] {
  const found: Fence[] = [];
  let open: { mark: string; info: string; lines: string[] } | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (open === undefined) {
      const [, mark, info] = OPENING.exec(line) ?? [];
      if (mark !== undefined && info !== undefined) open = { mark, info: info.trim(), lines: [] };
    } else if (closes(line, open.mark)) {
      found.push(toFence(open));
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  if (open !== undefined) found.push(toFence(open));
  return found;
}

function closes(line: string, mark: string): boolean {
  const text = line.trim();
  return text.length >= mark.length && text === (mark[0] ?? '').repeat(text.length);
}

const toFence = (open: { info: string; lines: string[] }): Fence => ({
  info: open.info,
  content: open.lines.map((line) => `${line}\n`).join(''),
});
