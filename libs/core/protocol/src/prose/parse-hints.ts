import type { JsonObject } from '../wire/json.ts';
import { hintValue } from './hint-value.ts';
import { HINTS, type Hint } from './hints.ts';
import { stripReportInstructions } from './report-instructions.ts';

const HEADING = /^TASK DISPATCH \(inline\)[ \t]*$/i;
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const HINT = /^([A-Za-z_][A-Za-z0-9_]*)[ \t]*:(.*)$/s;
const BRIEF = /^brief[ \t]*:[ ]?/i;

const BY_NAME = new Map(HINTS.map((hint) => [hint.name, hint]));

/** The largest number of lines in a block of hints. The brief starts after it. */
const MAX_LINES = 200;

export interface Hints {
  readonly brief: string;
  readonly task: JsonObject;
  readonly requirements: JsonObject;
  /** `protocol_version` and `deadline`, if present. */
  readonly top: JsonObject;
}

/**
 * Parses the block of hints in a text message (docs/handshake.md#from-a-prose-peer); undefined if there is none. Unknown
 * hints are ignored; the dispatch schema validates the values of known ones. Text of `renderDispatchText` yields the same
 * contract, without the report instructions.
 */
export function parseHints(text: string): Hints | undefined {
  const lines = linesOf(text);
  const start = headingOf(lines);
  if (start === undefined) return undefined;
  const block = readBlock(lines, start + 1);
  const hints: Record<Hint['place'], JsonObject> = { task: {}, requirements: {}, top: {} };
  for (const [key, value] of new Map(block.hints)) {
    const { place, kind } = BY_NAME.get(key) ?? {};
    if (place && kind) hints[place][key] = hintValue(value, kind);
  }
  const before = text.slice(0, lines[start]?.at).trim();
  return { ...hints, brief: briefOf(text.slice(block.briefAt), before, hints.task) };
}

interface Line {
  readonly text: string;
  /** Its start in the whole text. */
  readonly at: number;
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (let at = 0; at <= text.length; ) {
    const end = text.indexOf('\n', at);
    const next = end < 0 ? text.length + 1 : end + 1;
    lines.push({ text: text.slice(at, next - 1).replace(/\r$/, ''), at });
    at = next;
  }
  return lines;
}

function headingOf(lines: readonly Line[]): number | undefined {
  let fence: string | undefined;
  for (const [index, { text }] of lines.entries()) {
    const mark = FENCE.exec(text)?.[1];
    if (mark !== undefined && (fence === undefined || (mark[0] === fence[0] && mark.length >= fence.length)))
      fence = fence === undefined ? mark : undefined;
    else if (fence === undefined && HEADING.test(text)) return index;
  }
  return undefined;
}

interface Block {
  readonly hints: readonly (readonly [string, string])[];
  /** The start of the brief in the whole text. */
  readonly briefAt: number;
}

/** Reads the hints up to `Brief:` or the first line that is not a hint. Blank lines between hints are skipped. */
function readBlock(lines: readonly Line[], from: number): Block {
  const hints: [string, string][] = [];
  let index = from;
  for (;;) {
    const next = afterBlank(lines, index);
    const line = lines[next];
    const brief = line && BRIEF.exec(line.text);
    if (line && brief) return { hints, briefAt: line.at + brief[0].length };
    const [, key = '', value = ''] = (line && HINT.exec(line.text)) ?? [];
    const follows = next === index || BY_NAME.has(key);
    if (key === '' || !follows || index - from > MAX_LINES)
      return { hints, briefAt: lines[index]?.at ?? Number.POSITIVE_INFINITY };
    const end = value.trim() === '' ? continued(lines, next + 1) : next + 1;
    const more = lines.slice(next + 1, end).map(({ text }) => text);
    hints.push([key, [value.trim(), ...more].join('\n')]);
    index = end;
  }
}

function afterBlank(lines: readonly Line[], from: number): number {
  let index = from;
  while (index < lines.length && lines[index]?.text.trim() === '') index += 1;
  return index;
}

/** Returns the line after a block value, which consists of indented lines and list items. */
function continued(lines: readonly Line[], from: number): number {
  let index = from;
  while (index - from < MAX_LINES && /^(?:[ \t]+\S|- )/.test(lines[index]?.text ?? '')) index += 1;
  return index;
}

/** The brief of a rendered dispatch is returned unchanged; any other brief is trimmed. */
function briefOf(text: string, before: string, task: JsonObject): string {
  const { task_id: id, reply_schema: asked } = task;
  const replySchema = asked === 'structured' || asked === 'json' ? asked : 'prose';
  const brief =
    (typeof id === 'string' ? stripReportInstructions(text, id, replySchema) : undefined) ?? text.trim();
  return before === '' ? brief : `${before}\n${brief}`.trim();
}
