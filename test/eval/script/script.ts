import type { JsonObject } from '@hermes-fleet/protocol';

/** A tool call of a scripted model. */
export interface Call {
  readonly tool: string;
  readonly input: JsonObject;
  /** The call is expected to fail: a test that is red, a file that is not there. */
  readonly fails?: boolean;
}

/** One answer of a scripted model: tool calls, or a text that ends the turn. */
export interface Step {
  readonly text?: string;
  readonly calls?: readonly Call[];
  /** Patterns that the messages of the request match: what the model must have been shown before this answer. */
  readonly sees?: readonly RegExp[];
  /** The output limit cuts the answer after this many characters of the arguments of its only call. */
  readonly cutAfter?: number;
}

/** What a scripted model answers in a brief. */
export interface Script {
  /** The answers to the brief, then those to each further message. */
  readonly turns: readonly (readonly Step[])[];
  /** The answers of sub-agents, by the brief that a call of `delegate` gives them. */
  readonly delegated?: Readonly<Record<string, readonly Step[]>>;
}

/** Files of a repository, by path. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** The module beside a brief whose repository or script is too long for its front matter. */
export interface BriefModule {
  readonly files?: Files;
  readonly script?: Script;
}

export const call = (tool: string, input: JsonObject): Call => ({ tool, input });
export const failing = (one: Call): Call => ({ ...one, fails: true });
export const read = (path: string, offset?: number, limit?: number): Call =>
  call('read_file', { path, ...(offset && { offset }), ...(limit && { limit }) });
export const write = (path: string, content: string): Call => call('write_file', { path, content });
export const edit = (path: string, from: string, to: string): Call =>
  call('edit_file', { path, old_text: from, new_text: to });
export const replaceAll = (path: string, from: string, to: string): Call =>
  call('edit_file', { path, old_text: from, new_text: to, replace_all: true });
export const grep = (pattern: string, path = '.'): Call => call('grep_files', { pattern, path });
export const sh = (command: string): Call => call('shell_exec', { command });

/** An answer with these calls. */
export const calls = (...all: Call[]): Step => ({ calls: all });
/** An answer with these calls, to a request that shows all of `sees`. */
export const after = (sees: readonly RegExp[], ...all: Call[]): Step => ({ sees, calls: all });
/** The last answer of a turn. */
export const says = (text: string, ...sees: RegExp[]): Step => ({ text, sees });
