/** Small builders. `Work` keeps the files of one trace, so what is read, and how many bytes are written, is true. */
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import type { Trace, TraceCall } from '../trace.ts';

export type Step = (...calls: TraceCall[]) => void;
type Fill = (w: Work, step: Step) => void;
type Pair = readonly [oldText: string, newText: string];

const bytes = (text: string): number => new TextEncoder().encode(text).length;
const occurs = (text: string, part: string): number => text.split(part).length - 1;
const MISSING = 'old_text does not occur in the file; read it again';

export class Work {
  readonly files = new Map<string, string>();

  get(path: string): string {
    const text = this.files.get(path);
    if (text === undefined) throw new Error(`corpus: no file ${path}`);
    return text;
  }

  /** A change made by something other than the file tools (a script, git, a formatter). */
  set(path: string, content: string): void {
    this.files.set(path, content);
  }

  read(path: string, offset?: number, limit?: number): TraceCall {
    const all = this.get(path).split('\n');
    const from = offset ?? 1;
    const part = limit === undefined ? all.slice(from - 1) : all.slice(from - 1, from - 1 + limit);
    const next = from + part.length;
    return ok(
      'read_file',
      { path, ...(offset === undefined ? {} : { offset }), ...(limit === undefined ? {} : { limit }) },
      { content: part.join('\n'), lines: all.length, ...(next <= all.length ? { read_on_at: next } : {}) },
    );
  }

  write(path: string, content: string): TraceCall {
    this.files.set(path, content);
    return ok('write_file', { path, content }, { path, bytes: bytes(content) });
  }

  edit(path: string, oldText: string, newText: string, all = false): TraceCall {
    const before = this.get(path);
    const found = occurs(before, oldText);
    if (found === 0 || (found > 1 && !all))
      throw new Error(`corpus: ${path} has ${found} × ${JSON.stringify(oldText)}`);
    const after = before.split(oldText).join(newText);
    this.files.set(path, after);
    const input = { path, old_text: oldText, new_text: newText, ...(all ? { replace_all: true } : {}) };
    return ok('edit_file', input, { path, bytes: bytes(after) });
  }

  edits(path: string, pairs: readonly Pair[]): TraceCall {
    for (const [oldText, newText] of pairs) this.edit(path, oldText, newText);
    const list = pairs.map(([o, n]) => ({ old_text: o, new_text: n }));
    return ok('edit_file', { path, edits: list }, { path, bytes: bytes(this.get(path)) });
  }

  /** An edit that changes nothing because its old text is not there (or there more than once). */
  editFails(path: string, oldText: string, newText: string): TraceCall {
    const found = occurs(this.get(path), oldText);
    if (found === 1) throw new Error(`corpus: the edit of ${path} would succeed`);
    const why =
      found === 0
        ? MISSING
        : `old_text occurs ${found} times in the file; give more of its surroundings or set replace_all`;
    return failed('edit_file', { path, old_text: oldText, new_text: newText }, why);
  }

  /** `cat >> path` with a here-document. */
  append(path: string, text: string): TraceCall {
    this.files.set(path, (this.files.get(path) ?? '') + text);
    return sh(`cat >> ${path} <<'EOF'\n${text}EOF`);
  }

  cat(path: string): TraceCall {
    return sh(`cat ${path}`, this.get(path));
  }
}

const trace = (
  kind: Trace['kind'],
  name: string,
  fill: Fill,
  files: { readonly [path: string]: string },
): Trace => {
  const work = new Work();
  for (const [path, content] of Object.entries(files)) work.set(path, content);
  const steps: TraceCall[][] = [];
  fill(work, (...calls) => void steps.push(calls));
  return { name, kind, steps };
};
export const honest = (name: string, fill: Fill, files: { readonly [path: string]: string } = {}): Trace =>
  trace('honest', name, fill, files);
export const circle = (name: string, fill: Fill, files: { readonly [path: string]: string } = {}): Trace =>
  trace('circle', name, fill, files);

export const ok = (tool: string, input: JsonObject, output: JsonValue): TraceCall => ({
  tool,
  input,
  result: { ok: true, output },
});
export const failed = (tool: string, input: JsonObject, output: string): TraceCall => ({
  tool,
  input,
  result: { ok: false, output },
});

export const sh = (command: string, stdout = '', exitCode = 0, stderr = ''): TraceCall => ({
  tool: 'shell_exec',
  input: { command },
  result: {
    ok: exitCode === 0,
    output: { exit_code: exitCode, stdout, ...(stderr === '' ? {} : { stderr }) },
    exitCode,
  },
});
export const start = (command: string, id: string): TraceCall =>
  ok('shell_start', { command }, { id, state: 'running', output: '' });
export const output = (id: string, text: string, running = true, exitCode = 0): TraceCall =>
  ok(
    'shell_output',
    { id },
    running
      ? { id, state: 'running', output: text }
      : { id, state: 'ended', exited_with: exitCode, output: text },
  );
export const stop = (id: string): TraceCall =>
  ok('shell_stop', { id }, { id, state: 'ended', exited_with: null, output: '' });
export const list = (path: string, ...entries: string[]): TraceCall =>
  ok('list_files', { path }, { entries });
export const find = (pattern: string, ...paths: string[]): TraceCall =>
  ok('find_files', { pattern }, { paths });
export const grep = (pattern: string, path: string, ...matches: string[]): TraceCall =>
  ok('grep_files', { pattern, path }, { matches });
export const fetchUrl = (url: string, status: number, text: string): TraceCall =>
  ok('web_fetch', { url }, { status, text });
export const browser = (action: string, input: JsonObject, text: string): TraceCall =>
  ok(`mcp__browser__${action}`, input, { text });
export const send = (to: string, brief: string, text: string): TraceCall =>
  ok('fleet_send', { to, brief }, { status: 'answered', text });
export const delegate = (to: string, brief: string, text: string): TraceCall =>
  ok('delegate', { to, brief }, { status: 'done', text });
export const ask = (question: string, answer: string): TraceCall =>
  ok('ask_caller', { question }, { answer });
export const progress = (text: string): TraceCall => ok('progress_update', { text }, { noted: true });

export const times = <T>(n: number, f: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => f(i));
/** The i-th of a list, going round. */
export const nth = <T>(items: readonly T[], i: number): T => items[i % items.length] as T;
/** A duration as a test runner would print it: never quite the same. */
export const took = (i: number, base = 1.2): string => `${(base + ((i * 37) % 23) / 100).toFixed(2)}s`;
