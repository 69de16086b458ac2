import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';

const HEADING = /^TASK DISPATCH \(inline\)\s*$/i;
const FENCE = /^\s*(`{3,}|~{3,})/;
const HINT = /^([A-Za-z_][A-Za-z0-9_]*)\s*:\s*(.*)$/;

const IN_TASK = new Set(['task_id', 'priority', 'reply_schema', 'token_budget', 'write']);
const IN_REQUIREMENTS = new Set(['required_mcp', 'required_capabilities']);

/** What a text message says about its own execution, and what is left of it as the brief. */
export interface Hints {
  readonly brief: string;
  readonly task: JsonObject;
  readonly requirements: JsonObject;
  readonly deadline: string | undefined;
}

/**
 * Reads the source's inline hint block (phase 1: `TASK DISPATCH (inline)`, one hint a line, then `Brief:`) out of a
 * text message; undefined when there is none. It stands at a line's start, outside code fences. Hints that nobody
 * knows are passed over; the values of known ones are for the dispatch schema to judge.
 */
export function parseHints(text: string): Hints | undefined {
  const lines = text.split(/\r?\n/);
  const start = headingOf(lines);
  if (start === undefined) return undefined;
  const task: JsonObject = {};
  const requirements: JsonObject = {};
  let deadline: string | undefined;
  let end = start + 1;
  let brief: string[] = [];
  for (; end < lines.length; end += 1) {
    const [, key = '', value = ''] = HINT.exec(lines[end] ?? '') ?? [];
    if (key === '') break;
    if (key.toLowerCase() === 'brief') {
      brief = [value];
      end += 1;
      break;
    }
    if (IN_TASK.has(key)) task[key] = scalar(value);
    else if (IN_REQUIREMENTS.has(key)) requirements[key] = list(value);
    else if (key === 'deadline') deadline = unquoted(value);
  }
  const rest = [...lines.slice(0, start), ...brief, ...lines.slice(end)];
  return { brief: rest.join('\n').trim(), task, requirements, deadline };
}

function headingOf(lines: readonly string[]): number | undefined {
  let fence: string | undefined;
  for (const [index, line] of lines.entries()) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || (mark[0] === fence[0] && mark.length >= fence.length)))
      fence = fence === undefined ? mark : undefined;
    else if (fence === undefined && HEADING.test(line)) return index;
  }
  return undefined;
}

function scalar(text: string): JsonValue {
  const value = text.replace(/\s+#.*$/, '').trim();
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  if (value === 'true' || value === 'false') return value === 'true';
  return unquoted(value);
}

function list(text: string): JsonValue {
  const value = text.replace(/\s+#.*$/, '').trim();
  const inner = /^\[(.*)\]$/.exec(value)?.[1] ?? value;
  return inner.trim() === '' ? [] : inner.split(',').map(unquoted);
}

function unquoted(text: string): string {
  const value = text.trim();
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value;
}
