import type { Priority, ReplySchema, ToolResult } from '@hermes-fleet/protocol';
import type { GuardState, GuardStop } from './guard-state.ts';
import type { JournalEntry } from './run-state.ts';

/** A tool call as the guards know it: by the names and the inputs of this agent's own tools. */
export interface GuardedCall {
  readonly tool: string;
  readonly input: unknown;
  /** The same for this call after a restart, and for no other call of the task: it names the file of a long output. */
  readonly key: string;
  /** Whether the tool changes anything. */
  readonly mutates: boolean;
}

/** What the guards made of a call that has come to its end. */
export interface Guarded {
  /** What the model is to see in place of the result. Without the notes: `withNotes` puts them in. */
  readonly result: ToolResult;
  /** What the model is to be told beside it. */
  readonly notes: readonly string[];
  /** What the journal says of it: `atEnd` and the result's evidence are made of that. */
  readonly entry: JournalEntry;
  /** The conversation is to end. */
  readonly stop?: GuardStop;
}

/**
 * The guards of one conversation (design 3, The loop): each decides by what was called and what came of it, never by
 * what the model says. The loop and the hooks of Claude Code use the same ones.
 */
export interface Guards {
  /** Whether a call may be made. Counts nothing: only what has come to its end counts. */
  before(call: GuardedCall): { readonly kind: 'allow' } | { readonly kind: 'stop'; readonly stop: GuardStop };
  /** To be called once for each call, with all that its tool gave; puts it into the journal. */
  after(call: GuardedCall, result: ToolResult): Promise<Guarded>;
  /** The same for a call that no tool was made of, such as one of a tool that is not there; not put into the journal. */
  refused(call: GuardedCall, reason: string): Pick<Guarded, 'notes' | 'stop'>;
  /** The model says that it is done: what it is to be told first, or undefined when it may end. Counts nothing. */
  atEnd(end: EndOfTask): string | undefined;
  /** As JSON, for the checkpoint: guards that are made of it, and of the journal, decide as these would. */
  state(): GuardState;
}

export interface EndOfTask {
  readonly priority: Priority;
  readonly reply: ReplySchema;
  /** How often it was told before. */
  readonly told: number;
}
