import type { Priority, ReplySchema } from '@hermes-fleet/protocol/handshake';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import type { GuardState, GuardStop, JournalEntry } from './run-state.ts';

/** A tool call, by the names and inputs of the agent's own tools. */
export interface GuardedCall {
  readonly tool: string;
  readonly input: unknown;
  /** Unique in the task and stable across restarts; names the file that keeps a long output. */
  readonly key: string;
  readonly mutates: boolean;
}

/** The effect of one journal entry on the verification state. */
export interface Verified {
  /** Files that the call wrote, if it succeeded. */
  readonly wrote: readonly string[];
  /** `all` if a check passed, or the file that was read again. */
  readonly passed: 'all' | { readonly path: string } | undefined;
  /** True if the call tried to verify something, whatever its outcome. */
  readonly tried: boolean;
}

export interface Guarded {
  /** Shown to the model instead of the tool's result. `withNotes` adds the notes. */
  readonly result: ToolResult;
  readonly notes: readonly string[];
  readonly entry: JournalEntry;
}

/**
 * The guards of a conversation of any executor (docs/agent.md#guards). They decide by calls and results, never by claims.
 */
export interface Guards {
  /** Counts nothing: only ended calls count. */
  before(call: GuardedCall): { readonly kind: 'allow' } | { readonly kind: 'stop'; readonly stop: GuardStop };
  /** The part of a result that the model gets. Counts nothing. */
  shorten(call: GuardedCall, result: ToolResult): Promise<ToolResult>;
  /** Once for each call, with the whole result. The caller adds the result in the same turn: a checkpoint has both. */
  count(call: GuardedCall, result: ToolResult): Omit<Guarded, 'result'>;
  /** `count`, and then `shorten`: for a caller whose calls a restart does not repeat. */
  after(call: GuardedCall, result: ToolResult): Promise<Guarded>;
  /** Counts a call that never reached a tool, e.g. of an unknown tool. Returns notes. Recorded as refused. */
  refused(call: GuardedCall, reason: string): readonly string[];
  /**
   * Must be called before each step, with the number of steps so far: only there may a guard end the conversation, which
   * `state().stop` then says. The model has seen the notes of all steps before. Calls with a number again change nothing.
   */
  beforeStep(step: number): void;
  /** Returns the prompt for a model that wants to finish too early; undefined when it may finish. Counts nothing. */
  completionPrompt(end: EndOfTask): string | undefined;
  /** JSON for the checkpoint: guards restored from it and from the journal decide alike. */
  state(): GuardState;
}

interface EndOfTask {
  readonly priority: Priority;
  readonly reply: ReplySchema;
  readonly nudges: number;
}
