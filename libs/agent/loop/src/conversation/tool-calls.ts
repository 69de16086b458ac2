import type { JsonObject } from '@hermes-fleet/protocol';
import {
  type Budget,
  ToolError,
  type ToolResult,
  taskFields,
  toolFailure,
  withInputNotes,
} from '@hermes-fleet/protocol/ports';
import type { FinishReason, ModelMessage } from 'ai';
import { z } from 'zod';
import { conversationGuards, entryOf, withNotes } from '../guards/guards.ts';
import { type PendingCall, toolMessage } from '../messages/history.ts';
import { loggable } from '../messages/redact.ts';
import { withRefusedCalls } from '../messages/refused-calls.ts';
import { OUTCOME_UNKNOWN } from '../messages/task-message.ts';
import { meantTool, noSuchTool } from '../messages/tool-names.ts';
import type { AgentTool, ConversationOptions, RunResources, ToolContext } from '../run/conversation.ts';
import type { GuardedCall } from '../run/guards.ts';
import { forgetCall, type JournalEntry } from '../run/run-state.ts';
import { inToolSpan } from '../run/spans.ts';
import type { PendingWrites } from './pending-writes.ts';
import { addShares, sharedBudget } from './shared-budget.ts';
import { createSharedPark } from './shared-park.ts';

interface ToolCallsOptions extends Pick<ConversationOptions, 'state' | 'key' | 'tools' | 'save' | 'budget'> {
  /** The context of a call; `together`: what it has of its own while others run. */
  contextOf(key: string, together?: Together): ToolContext;
  /** Ends the run for now; the next start resumes it. */
  pause(): Promise<never>;
  progress(data: JsonObject): Promise<void>;
  readonly writes: PendingWrites;
}

export type ToolCalls = ReturnType<typeof createToolCalls>;

/** What one of several calls that run at the same time has of its own. */
export interface Together {
  readonly budget?: Budget;
  readonly isShare?: boolean;
  readonly park?: ToolContext['park'];
}

export interface StepEnd {
  readonly finishReason: FinishReason;
  readonly maxOutputTokens: number;
}

const Target = z.object({ path: z.string().optional(), command: z.string().optional() });

interface Executed {
  readonly result: ToolResult;
  readonly durationMs: number;
}

/** A call that has ended; `shown` is the part of its result that the model gets. */
interface Ended extends Executed {
  readonly call: PendingCall;
  readonly shown: ToolResult;
}

interface Understood {
  readonly tool: AgentTool | undefined;
  readonly notes: readonly string[];
  readonly guarded: GuardedCall;
}

/** Carries out the tool calls of a conversation, under its guards, and records them. */
export function createToolCalls(options: ToolCallsOptions, resources: RunResources) {
  const { state, writes } = options;
  const { signal, stopping, clock, log, task, hooks, files } = resources;
  const tools = new Map(options.tools.map((tool) => [tool.name, tool]));
  const guards = conversationGuards(options, resources);
  const keyOf = (call: PendingCall): string => `${options.key}${state.step}.${call.index}`;
  const names = new Set(tools.keys());
  /** The call by the name and the input of our tool; `notes` say what the model wrote otherwise. */
  function understood(call: PendingCall): Understood {
    const name = meantTool(call.tool, names) ?? call.tool;
    const tool = tools.get(name);
    const { input, notes, problem } = tool?.readInput?.(call.input) ?? { input: call.input, notes: [] };
    return {
      tool,
      notes: [...(name === call.tool ? [] : [`the tool is ${name}`]), ...(problem ? [] : notes)],
      guarded: { tool: name, input, key: keyOf(call), mutates: tool?.mutates ?? false },
    };
  }
  /** Hides a tool name that the model made up. */
  const publicName = (call: PendingCall): string => understood(call).tool?.name ?? 'unknown';

  function addResult(call: PendingCall, result: ToolResult): void {
    state.messages.push(toolMessage(call, result));
    forgetCall(state, keyOf(call));
  }

  /** Answers a call that is not carried out. The answer is durable with the next save. */
  function answerUnsaved(call: PendingCall, result: ToolResult): void {
    addResult(call, result);
    state.journal.push(entryOf(understood(call).guarded, result));
  }

  /** The journal detail that the tool would have recorded. */
  function targetOf(call: PendingCall): string | undefined {
    const { tool, input } = understood(call).guarded;
    const { path, command } = Target.safeParse(input).data ?? {};
    if (tool === 'shell_exec' || path === undefined) return tool === 'shell_exec' ? command : undefined;
    try {
      return files.normalize(path);
    } catch (error) {
      if (error instanceof ToolError) return undefined;
      throw error;
    }
  }

  const saveAnswer = (call: PendingCall, ok: boolean): void =>
    writes.add(options.save(), options.progress({ tool: publicName(call), phase: 'ended', ok }));

  async function execute(call: PendingCall, { tool, guarded }: Understood, together?: Together) {
    if (tool === undefined) return toolFailure(noSuchTool(call.tool, names));
    try {
      const context = options.contextOf(keyOf(call), together);
      return await inToolSpan(resources, tool.name, (own) =>
        tool.run(guarded.input, { ...context, task: own }),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (stopping.aborted && error === stopping.reason) throw error;
      log.error({ ...taskFields(task), tool: tool.name, err: error }, 'a tool failed unexpectedly');
      return toolFailure('the tool failed unexpectedly; try another way');
    }
  }

  /** Several calls park together, and several delegations share the budget. A share outlasts a restart. */
  function togetherOf(
    calls: readonly PendingCall[],
  ): (call: PendingCall) => Together & { leave?: () => void } {
    if (calls.length === 1 && state.shares === undefined) return () => ({});
    const paying = calls.filter((call) => understood(call).guarded.mutates).map(keyOf);
    const whole = options.budget ?? resources.budget;
    if (paying.length > 1) {
      state.shares ??= {};
      addShares(state.shares, paying, whole);
    }
    const join = createSharedPark(resources.park);
    return (call) => {
      const share = state.shares?.[keyOf(call)];
      return { ...join(), ...(share && { budget: sharedBudget(whole, share), isShare: true }) };
    };
  }

  async function start(call: PendingCall, together: Together & { leave?: () => void }): Promise<Executed> {
    const { leave, ...own } = together;
    const startedAt = clock.monotonic();
    try {
      const result = await execute(call, understood(call), own);
      return { result, durationMs: Math.round(clock.monotonic() - startedAt) };
    } finally {
      leave?.();
    }
  }

  async function shorten(call: PendingCall, executed: Executed): Promise<Ended> {
    return { call, ...executed, shown: await guards.shorten(understood(call).guarded, executed.result) };
  }

  /** Counts calls and adds their results in one turn, so that a checkpoint has both or neither. The writes share a commit. */
  function record(ended: readonly Ended[]): void {
    const events: (() => void)[] = [];
    try {
      for (const { call, result, shown, durationMs } of ended) {
        const { guarded, notes: read } = understood(call);
        const { notes, entry } = guards.count(guarded, result);
        addResult(call, withInputNotes(withNotes(shown, notes), read));
        events.push(() => reportEnd(call, entry, durationMs));
      }
    } finally {
      if (events.length > 0) writes.add(options.save());
      for (const report of events) report();
    }
  }

  function reportEnd(call: PendingCall, entry: JournalEntry, durationMs: number): void {
    const ended = { tool: publicName(call), ok: entry.ok, duration_ms: durationMs };
    writes.add(options.progress({ ...ended, phase: 'ended' }));
    if (!hooks.logToolUse) return;
    log.info({ ...taskFields(task), ...ended, detail: loggable(entry.detail ?? '') }, 'a tool was used');
  }

  return {
    guards,
    answerUnsaved,
    /** Carries out calls together, once earlier writes are durable. On return their results are being written, in order. */
    async run(together: readonly PendingCall[]): Promise<void> {
      for (const call of together) writes.add(options.progress({ tool: publicName(call), phase: 'started' }));
      await writes.durable();
      const ownOf = togetherOf(together);
      const owned = together.map((call) => ({ call, own: ownOf(call) }));
      const running = owned.map(({ call, own }) => ({ call, ended: start(call, own) }));
      for (const { ended } of running) ended.catch(() => {});
      // Results are judged and recorded in the order of the calls, whichever ended first; nothing runs on after an error.
      let failed: { readonly error: unknown } | undefined;
      for (const part of resultParts(running, ({ call }) => understood(call).guarded.mutates)) {
        await Promise.allSettled(part.map(({ ended }) => ended));
        const shortened: Ended[] = [];
        try {
          for (const { call, ended } of part)
            if (failed === undefined) shortened.push(await shorten(call, await ended));
        } catch (error) {
          failed ??= { error };
        }
        try {
          record(shortened);
        } catch (error) {
          failed ??= { error };
        }
      }
      if (failed === undefined) return;
      if (stopping.aborted && failed.error === stopping.reason) await options.pause();
      throw failed.error;
    },
    /** Answers a call that is not carried out. On return the answer is being written. */
    answer(call: PendingCall, result: ToolResult): void {
      answerUnsaved(call, result);
      saveAnswer(call, result.ok);
    },
    /** Answers a call that a restart interrupted: it may have had its effect, a part of it, or none. */
    answerUnknown(call: PendingCall): void {
      const result = toolFailure(`${OUTCOME_UNKNOWN}: check before repeating it`);
      addResult(call, result);
      const target = targetOf(call);
      state.journal.push({
        ...entryOf(understood(call).guarded, result),
        ...(target && { detail: target, unknown: true }),
      });
      saveAnswer(call, false);
    },
    /** The messages of a step, with the answers to calls that the SDK refused: of unknown tools, or cut. */
    accepted: (messages: readonly ModelMessage[], end: StepEnd): ModelMessage[] =>
      withRefusedCalls(messages, {
        ...end,
        tools: names,
        refused: (call, reason) =>
          guards.refused({ ...call, key: '', mutates: tools.get(call.tool)?.mutates ?? false }, reason),
      }),
    isConcurrent(call: PendingCall): boolean {
      const { tool } = understood(call);
      return tool?.repeatable === true && (tool.isConcurrent ?? !tool.mutates);
    },
    isRepeatable: (call: PendingCall): boolean => understood(call).tool?.repeatable ?? false,
    guardStop: () => guards.state().stop,
  };
}

/** The calls whose results are written together. One that is alone, such as a delegation, saves the run by itself. */
function resultParts<T>(calls: readonly T[], isAlone: (call: T) => boolean): T[][] {
  const parts: T[][] = [];
  for (const each of calls) {
    const last = parts.at(-1);
    if (last?.[0] === undefined || isAlone(each) || isAlone(last[0])) parts.push([each]);
    else last.push(each);
  }
  return parts;
}
