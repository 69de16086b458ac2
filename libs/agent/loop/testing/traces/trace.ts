import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';

/** A call of a model, with its result. */
export interface TraceCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly result: { readonly ok: boolean; readonly output: JsonValue; readonly exitCode?: number };
}

/** A recorded or written-down run, for the loop detector (docs/agent.md#guards). */
export interface Trace {
  readonly name: string;
  readonly kind: 'honest' | 'circle';
  /** Each step is one answer of the model with its calls. */
  readonly steps: readonly (readonly TraceCall[])[];
}

type Step = readonly TraceCall[] | TraceCall;

const stepsOf = (steps: readonly Step[]): (readonly TraceCall[])[] =>
  steps.map((step) => ('tool' in step ? [step] : step));

export const honest = (name: string, ...steps: readonly Step[]): Trace => ({
  name,
  kind: 'honest',
  steps: stepsOf(steps),
});
export const circle = (name: string, ...steps: readonly Step[]): Trace => ({
  name,
  kind: 'circle',
  steps: stepsOf(steps),
});

/** The same steps over and over. */
export const rounds = (count: number, round: (at: number) => readonly Step[]): Step[] =>
  Array.from({ length: count }, (_, at) => round(at)).flat();

const lineCount = (text: string): number => text.split('\n').length;

export const read = (path: string, content = `the text of ${path}`): TraceCall => ({
  tool: 'read_file',
  input: { path },
  result: { ok: true, output: { content, lines: lineCount(content) } },
});

export const write = (path: string, content: string): TraceCall => ({
  tool: 'write_file',
  input: { path, content },
  result: { ok: true, output: { path, bytes: content.length } },
});

export const added = (path: string, content: string): TraceCall => ({
  tool: 'write_file',
  input: { path, content, append: true },
  result: { ok: true, output: { path, bytes: 400 + content.length } },
});

/** An edit of 400 bytes: what is left of the file does not matter. */
export const edit = (path: string, before: string, after: string): TraceCall => ({
  tool: 'edit_file',
  input: { path, old_text: before, new_text: after },
  result: { ok: true, output: { path, bytes: 400 + after.length } },
});

export const sh = (command: string, stdout = '', exitCode = 0): TraceCall => ({
  tool: 'shell_exec',
  input: { command },
  result: { ok: exitCode === 0, output: { exit_code: exitCode, ...(stdout && { stdout }) }, exitCode },
});

export const grep = (pattern: string, path: string, matches: readonly string[]): TraceCall => ({
  tool: 'grep_files',
  input: { pattern, path },
  result: { ok: true, output: { matches: [...matches] } },
});

export const list = (path: string, entries: readonly string[]): TraceCall => ({
  tool: 'list_files',
  input: { path },
  result: { ok: true, output: { entries: [...entries] } },
});

export const call = (tool: string, input: JsonObject, output: JsonValue): TraceCall => ({
  tool,
  input,
  result: { ok: true, output },
});

export const failure = (tool: string, input: JsonObject, output: string): TraceCall => ({
  tool,
  input,
  result: { ok: false, output },
});
