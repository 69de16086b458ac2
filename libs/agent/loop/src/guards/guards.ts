import { isJsonObject } from '@hermes-fleet/protocol';
import { type Log, logWith, type ToolResult, taskFields } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles } from '@hermes-fleet/workspace';
import type { AgentConfig } from '../config/config-yaml.ts';
import { verifyPrompt } from '../messages/follow-up-prompts.ts';
import { cut } from '../messages/text.ts';
import type { ConversationOptions, RunResources } from '../run/conversation.ts';
import type { GuardedCall, Guards, Verified } from '../run/guards.ts';
import { type GuardState, type JournalEntry, newGuardState } from '../run/run-state.ts';
import { outputText } from './commands/output-text.ts';
import { testsRun } from './commands/tests-run.ts';
import { compact, MAX_OUTPUT_BYTES } from './compact.ts';
import { maxNudges } from './evidence.ts';
import { createLoopDetector } from './loops/loop-detector.ts';
import { createSpill } from './spill.ts';
import { createVerification } from './verification.ts';

export interface GuardsOptions {
  readonly taskId: string;
  /** All calls of the run so far, sub-agents included. Every further call is appended. */
  readonly journal: JournalEntry[];
  /** Holds full outputs. Without it, outputs are cut and not kept. */
  readonly files: AnchoredFiles | undefined;
  /** True if the run can execute commands. Otherwise reading code verifies it. */
  readonly canRun: boolean;
  /** Limit for one command's output, failures included; 64 kB by default. */
  readonly maxOutputBytes?: number | undefined;
  readonly log: Log;
  readonly onGuard?: ((guard: string, level: string) => void) | undefined;
}

/** Creates a conversation's guards from `hooks` of config.yaml. They continue from `state` and mutate it. */
export function createGuards(
  hooks: AgentConfig['hooks'],
  options: GuardsOptions,
  state: GuardState = newGuardState(),
): Guards {
  const loop = createLoopDetector(hooks, state.loop, options.onGuard);
  const spill = createSpill(options, state);
  const verification = createVerification(options.canRun);
  let read = 0;

  /** Processes new journal entries and returns the effect of the last one. */
  function readOn(): Verified | undefined {
    let last: Verified | undefined;
    while (read < options.journal.length) {
      const entry = options.journal[read];
      // First, so that an entry that cannot be judged fails its own call alone.
      read += 1;
      if (entry !== undefined) last = verification.add(entry);
    }
    return last;
  }

  const shorten: Guards['shorten'] = (call, result) =>
    compact(call, result, hooks, options.maxOutputBytes, spill);

  const count: Guards['count'] = (call, result) => {
    const entry = entryOf(call, result);
    options.journal.push(entry);
    return { notes: loop.after(call, result, readOn() ?? NOTHING), entry };
  };

  return {
    before: () => (state.stop === undefined ? { kind: 'allow' } : { kind: 'stop', stop: state.stop }),
    shorten,
    count,
    async after(call, result) {
      const counted = count(call, result);
      return { ...counted, result: await shorten(call, result) };
    },
    refused(call, reason) {
      const result = { ok: false, output: reason };
      options.journal.push({ ...entryOf(call, result), refused: true });
      readOn();
      return loop.after(call, result, NOTHING);
    },
    beforeStep(step) {
      state.stop ??= loop.beforeStep(step);
    },
    completionPrompt({ priority, reply, nudges }) {
      if (!hooks.verifyBeforeComplete || nudges >= maxNudges(priority, reply)) return undefined;
      readOn();
      const open = verification.unverified();
      return open.files.length === 0 ? undefined : verifyPrompt(open);
    },
    state: () => state,
  };
}

/** The guards of one conversation of a run. They continue from its checkpoint, and write to it. */
export function conversationGuards(
  { state, tools }: Pick<ConversationOptions, 'state' | 'tools'>,
  { hooks, task, files, log, model, onGuard }: RunResources,
): Guards {
  state.guards ??= newGuardState();
  const options: GuardsOptions = {
    taskId: task.id,
    journal: state.journal,
    files,
    canRun: tools.some(({ name }) => name === 'shell_exec'),
    // A quarter of the context window, at four bytes per token.
    maxOutputBytes: Math.min(MAX_OUTPUT_BYTES, model.info.contextWindow),
    log: logWith(log, taskFields(task)),
    onGuard,
  };
  return createGuards(hooks, options, state.guards);
}

const NOTHING: Verified = { wrote: [], passed: undefined, tried: false };

/** The reasons why a call was not carried out at all. */
const REFUSED = /^(?:wrong input: |not run: |there is no tool )/;

export function entryOf(call: GuardedCall, result: ToolResult): JournalEntry {
  const { ok, output, exitCode } = result;
  const detail = result.detail ?? (ok || typeof output !== 'string' ? undefined : cut(output));
  const tests = exitCode === undefined ? undefined : testsRun(outputText(output));
  return {
    tool: call.tool,
    ok,
    ...(detail && { detail }),
    ...(!ok && exitCode === undefined && REFUSED.test(detail ?? '') && { refused: true }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(tests === undefined ? {} : { tests }),
  };
}

/** Appends the guards' notes for the model to a result. */
export function withNotes(result: ToolResult, notes: readonly string[]): ToolResult {
  if (notes.length === 0) return result;
  const { output } = result;
  const note = notes.join('\n');
  if (typeof output === 'string') return { ...result, output: `${output}\n\n${note}` };
  return { ...result, output: isJsonObject(output) ? { ...output, note } : { output, note } };
}
