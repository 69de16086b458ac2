import { type JsonObject, ToolError, type ToolResult, toolFailure } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import { z } from 'zod';
import { createGuards, entryOf, withNotes } from '../guards/guards.ts';
import { loggable } from '../guards/redact.ts';
import { inputOf, type PendingCall, toolMessage } from '../messages/history.ts';
import { OUTCOME_UNKNOWN } from '../messages/task-message.ts';
import type { ConversationOptions, RunResources, ToolContext } from '../run/conversation.ts';
import { type GuardStop, newGuardState } from '../run/guard-state.ts';
import type { GuardedCall, Guards } from '../run/guards.ts';
import type { Writes } from './writes.ts';

export interface CallsOptions extends Pick<ConversationOptions, 'state' | 'key' | 'tools' | 'save'> {
  /** What a tool works with. */
  contextOf(key: string): ToolContext;
  /** Ends everything at once, to go on with the next start. */
  pause(): Promise<never>;
  progress(data: JsonObject): Promise<void>;
  readonly writes: Writes;
}

export interface Calls {
  readonly guards: Guards;
  /**
   * Carries a call out, under the guards, once all that was begun before it is durable. Its result is begun to be
   * written when this resolves.
   */
  run(call: PendingCall): Promise<void>;
  /** Answers a call that is not carried out; begun to be written when it returns. */
  answer(call: PendingCall, result: ToolResult): void;
  /** Answers a call that a restart cut off, and that may have done all, a part or nothing of what it was to do. */
  answerUnknown(call: PendingCall): void;
  /** Answers a call that is not carried out, durable with whatever comes next. */
  note(call: PendingCall, result: ToolResult): void;
  /** A step's messages, with what the guards say of the calls that were refused before they came here. */
  judged(messages: readonly ModelMessage[]): ModelMessage[];
  /** Whether the tool is there and may simply be called again. */
  isRepeatable(call: PendingCall): boolean;
  /** The guard that has ended the conversation. */
  stopped(): GuardStop | undefined;
}

const Aim = z.object({ path: z.string().optional(), command: z.string().optional() });

/** How loudly a model may print, at most: a quarter of what it can take in, a token being some four bytes. */
const outputBytes = (contextWindow: number): number => Math.min(64 * 1024, contextWindow);

/** The calls of a conversation: each is told of, carried out, judged by the guards and recorded. */
export function createCalls(o: CallsOptions, parts: RunResources): Calls {
  const { state } = o;
  const { signal, stopping, clock, log, task } = parts;
  const tools = new Map(o.tools.map((tool) => [tool.name, tool]));
  state.guards ??= newGuardState();
  const guards = createGuards(
    parts.hooks,
    {
      taskId: task.id,
      journal: state.journal,
      files: parts.files,
      canRun: tools.has('shell_exec'),
      maxOutputBytes: outputBytes(parts.model.info.contextWindow),
      log,
      onGuard: parts.onGuard,
    },
    state.guards,
  );
  const keyOf = (call: PendingCall): string => `${o.key}${state.step}.${call.index}`;
  /** A name that the model made up is its text, and stays here. */
  const nameOf = ({ tool }: PendingCall): string => (tools.has(tool) ? tool : 'unknown');
  const guarded = (call: PendingCall): GuardedCall => ({
    tool: call.tool,
    input: call.input,
    key: keyOf(call),
    mutates: tools.get(call.tool)?.mutates ?? false,
  });

  function put(call: PendingCall, result: ToolResult): void {
    state.messages.push(toolMessage(call, result));
    state.memo = undefined;
  }

  function note(call: PendingCall, result: ToolResult): void {
    put(call, result);
    state.journal.push(entryOf(guarded(call), result));
  }

  /** What a call was to write or to run, as its tool would have it in the journal. */
  function aimOf({ tool, input }: PendingCall): string | undefined {
    const { path, command } = Aim.safeParse(input).data ?? {};
    if (tool === 'shell_exec' || path === undefined) return tool === 'shell_exec' ? command : undefined;
    try {
      return parts.files.normalize(path);
    } catch (error) {
      if (error instanceof ToolError) return undefined;
      throw error;
    }
  }

  const ended = (call: PendingCall, ok: boolean): void =>
    o.writes.begun(o.save(), o.progress({ tool: nameOf(call), phase: 'ended', ok }));

  async function execute(call: PendingCall): Promise<ToolResult> {
    const tool = tools.get(call.tool);
    if (tool === undefined)
      return toolFailure(`there is no tool ${call.tool}; there are ${[...tools.keys()].join(', ')}`);
    try {
      return await tool.run(call.input, o.contextOf(keyOf(call)));
    } catch (error) {
      signal.throwIfAborted();
      if (stopping.aborted && error === stopping.reason) return await o.pause();
      log.error({ task_id: task.id, tool: call.tool, err: error }, 'a tool failed unexpectedly');
      return toolFailure('the tool failed for a reason of its own; try another way');
    }
  }

  return {
    guards,
    note,
    async run(call) {
      const tool = nameOf(call);
      o.writes.begun(o.progress({ tool, phase: 'started' }));
      await o.writes.durable();
      const began = clock.now();
      const result = await execute(call);
      const durationMs = Math.max(0, clock.now() - began);
      const { result: shown, notes, entry } = await guards.after(guarded(call), result);
      put(call, withNotes(shown, notes));
      const end = { tool, phase: 'ended', ok: entry.ok, duration_ms: durationMs };
      o.writes.begun(o.save(), o.progress(end));
      if (parts.hooks.logToolUse) {
        const detail = loggable(entry.detail ?? '');
        log.info(
          { task_id: task.id, tool, ok: entry.ok, duration_ms: durationMs, detail },
          'a tool was used',
        );
      }
    },
    answer(call, result) {
      note(call, result);
      ended(call, result.ok);
    },
    answerUnknown(call) {
      const result = toolFailure(`${OUTCOME_UNKNOWN}: check before repeating it`);
      put(call, result);
      const aim = aimOf(call);
      state.journal.push({
        ...entryOf(guarded(call), result),
        ...(aim && { detail: aim, unknown: true }),
      });
      ended(call, false);
    },
    judged: (messages) =>
      messages.map((message) => {
        if (message.role !== 'tool') return message;
        const content = message.content.map((part) => {
          if (part.type !== 'tool-result' || !('value' in part.output)) return part;
          const { toolCallId: id, toolName: tool, output } = part;
          const reason = typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
          const call = { tool, input: inputOf(messages, id), key: '', mutates: false };
          const { notes } = guards.refused(call, reason);
          if (notes.length === 0) return part;
          return { ...part, output: { type: 'error-text' as const, value: [reason, ...notes].join('\n\n') } };
        });
        return { ...message, content };
      }),
    isRepeatable: ({ tool }) => tools.get(tool)?.repeatable ?? false,
    stopped: () => guards.state().stop,
  };
}
