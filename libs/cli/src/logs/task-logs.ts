import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import type { LogLines } from './log-lines.ts';

/** A line of the log of a service, as the service wrote it and as a record. */
export interface TaskLine {
  readonly text: string;
  readonly record: JsonObject;
}

export interface FoundLines {
  /** In the order of their times; lines of the same time in the order in which they were read. */
  readonly lines: readonly TaskLine[];
  /** The lines that were read first, and could not be held. */
  readonly leftOut: number;
}

/** Of the text of the lines that are held. */
const MAX_TEXT = 32 * 1024 * 1024;

/**
 * The log lines of the chain of a task: of the task, of those that it was sent on as, and of those that it came from
 * (docs/operations.md#follow-a-task-through-the-logs). `id` is the ID of any task of the chain at its profile, or its
 * caller's name for it. A chain is its `root_id` in its trace, as two callers may use the same name.
 */
export async function linesOfTask(lines: LogLines, id: string, maxText = MAX_TEXT): Promise<FoundLines> {
  const chains = new Set<string>();
  const tasks = new Set([id]);
  const named = JSON.stringify(id);
  for await (const text of lines()) {
    const line = text.includes(named) ? taskLine(text) : undefined;
    if (line === undefined) continue;
    const { task_id, dispatch_id, root_id } = line.record;
    const isNamed = [task_id, dispatch_id, root_id].includes(id);
    if (isNamed && root_id !== undefined) chains.add(chainOf(line));
  }
  const found: TaskLine[] = [];
  let [held, leftOut] = [0, 0];
  for await (const text of lines()) {
    const line = taskLine(text);
    if (line === undefined) continue;
    const task = String(line.record.task_id);
    // A line without the chain is of a task whose other lines came before it.
    if (line.record.root_id === undefined ? !tasks.has(task) : !chains.has(chainOf(line))) continue;
    tasks.add(task);
    // A copy, as a part of a text keeps the whole of it in memory.
    found.push({ ...line, text: Buffer.from(line.text).toString() });
    held += line.text.length;
    for (; held > maxText; leftOut += 1) held -= found.shift()?.text.length ?? 0;
  }
  return { lines: found.toSorted((a, b) => compare(timeOf(a), timeOf(b))), leftOut };
}

const chainOf = ({ record }: TaskLine): string => JSON.stringify([record.root_id, record.trace_id]);
const timeOf = ({ record }: TaskLine): string => String(record.time ?? '');
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * What follows the prefix that `docker compose logs` writes, which is control codes if not a name. A line that is no JSON
 * object, or names no task, is of no task: a crash may have cut it, or a child written it.
 */
function taskLine(line: string): TaskLine | undefined {
  if (!line.includes('"task_id":')) return undefined;
  const text = line.slice(line.indexOf('{')).trimEnd();
  const record = parseJson(text);
  return isJsonObject(record) && typeof record.task_id === 'string' ? { text, record } : undefined;
}

/** The fields that have a column of their own, or are the same in every line of a task. */
const NOT_LISTED = [
  'time',
  'name',
  'level',
  'msg',
  'task_id',
  'dispatch_id',
  'root_id',
  'trace_id',
  'context_id',
];

/** A line as text: time, service, level, ID of the task there, message, and the other fields. */
export function describeLine({ record }: TaskLine): string {
  const text = (name: string): string => shown(record[name] ?? '');
  const fields = Object.entries(record)
    .filter(([name]) => !NOT_LISTED.includes(name))
    .map(([name, value]) => `${name}=${shown(value)}`);
  const columns = [text('time'), text('name').padEnd(8), text('level').padEnd(5), text('task_id')];
  return [...columns, text('msg'), ...fields].join('  ');
}

/** An error is its message. */
function shown(value: JsonObject[string] | undefined): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) && typeof value.message === 'string' ? value.message : JSON.stringify(value);
}
