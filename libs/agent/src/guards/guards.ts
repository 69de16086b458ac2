import {
  isJsonObject,
  type Log,
  type Priority,
  type ReplySchema,
  type ToolResult,
} from '@hermes-fleet/protocol';
import type { AgentConfig } from '../config/config.ts';
import { verifyAsk } from '../loop/asks.ts';
import type { JournalEntry } from '../loop/run-state.ts';
import { cut, maxNudges } from '../loop/verification.ts';
import type { AnchoredFiles } from '../tools/anchored-path.ts';
import { testsRun } from './commands/tests-run.ts';
import { compact } from './compact.ts';
import { type GuardState, type GuardStop, newGuardState } from './guard-state.ts';
import { createLoopDetector } from './loop-detector.ts';
import { outputText } from './output-text.ts';
import { createSpill } from './spill.ts';
import { createVerification, type Verified } from './verification.ts';

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

export interface GuardsOptions {
  readonly taskId: string;
  /** What was done so far, by whomever; every call is put into it. */
  readonly journal: JournalEntry[];
  /** Where full outputs are kept; without it they are only cut. */
  readonly files: AnchoredFiles | undefined;
  /** Whether commands can be run: without, code is verified by reading it. */
  readonly canRun: boolean;
  /** Of one command's output, failures included; 64 kB by default. */
  readonly maxOutputBytes?: number | undefined;
  readonly log: Log;
  readonly onGuard?: ((guard: string, level: string) => void) | undefined;
}

/** The guards of one conversation, by `hooks` of config.yaml. They change `state`, and go on from where it stands. */
export function createGuards(
  hooks: AgentConfig['hooks'],
  o: GuardsOptions,
  state: GuardState = newGuardState(),
): Guards {
  const loop = createLoopDetector(hooks, state.loop, o.onGuard);
  const spill = createSpill(o, state);
  const verification = createVerification(o.canRun);
  let read = 0;

  /** What was put into the journal since the last look; returns what its last entry did. */
  function readOn(): Verified | undefined {
    let last: Verified | undefined;
    for (; read < o.journal.length; read += 1) {
      const entry = o.journal[read];
      if (entry !== undefined) last = verification.add(entry);
    }
    return last;
  }

  return {
    before: () => (state.stop === undefined ? { kind: 'allow' } : { kind: 'stop', stop: state.stop }),
    async after(call, result) {
      const entry = entryOf(call, result);
      o.journal.push(entry);
      const found = loop.after(call, result, readOn() ?? NOTHING);
      if (found.stop !== undefined) state.stop = found.stop;
      const shown = await compact(call, result, hooks, o.maxOutputBytes, spill);
      return { result: shown, notes: found.notes, entry, ...(found.stop && { stop: found.stop }) };
    },
    refused(call, reason) {
      const found = loop.after(call, { ok: false, output: reason }, NOTHING);
      if (found.stop !== undefined) state.stop = found.stop;
      return found;
    },
    atEnd({ priority, reply, told }) {
      if (!hooks.verifyBeforeComplete || told >= maxNudges(priority, reply)) return undefined;
      readOn();
      const open = verification.unverified();
      return open.files.length === 0 ? undefined : verifyAsk(open);
    },
    state: () => state,
  };
}

const NOTHING: Verified = { wrote: [], passed: undefined, tried: false };

/** What is recorded of a call. */
export function entryOf(call: GuardedCall, result: ToolResult): JournalEntry {
  const { ok, output, exitCode } = result;
  const detail = result.detail ?? (ok || typeof output !== 'string' ? undefined : cut(output));
  const tests = exitCode === undefined ? undefined : testsRun(outputText(output));
  return {
    tool: call.tool,
    ok,
    ...(detail && { detail }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(tests === undefined ? {} : { tests }),
  };
}

/** A result with what the model is told beside it. */
export function withNotes(result: ToolResult, notes: readonly string[]): ToolResult {
  if (notes.length === 0) return result;
  const { output } = result;
  const note = notes.join('\n');
  if (typeof output === 'string') return { ...result, output: `${output}\n\n${note}` };
  return { ...result, output: isJsonObject(output) ? { ...output, note } : { output, note } };
}
