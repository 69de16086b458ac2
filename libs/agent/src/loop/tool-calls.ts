import {
  type JsonObject,
  logWith,
  ToolError,
  type ToolResult,
  taskFields,
  toolFailure,
  withInputNotes,
} from '@hermes-fleet/protocol';
import type { FinishReason, ModelMessage } from 'ai';
import { z } from 'zod';
import { createGuards, entryOf, withNotes } from '../guards/guards.ts';
import { loggable } from '../guards/redact.ts';
import { type PendingCall, toolMessage } from '../messages/history.ts';
import { withRefusedCalls } from '../messages/refused-calls.ts';
import { OUTCOME_UNKNOWN } from '../messages/task-message.ts';
import type { AgentTool, ConversationOptions, RunResources, ToolContext } from '../run/conversation.ts';
import { type GuardStop, newGuardState } from '../run/guard-state.ts';
import type { GuardedCall, Guards } from '../run/guards.ts';
import { meantTool } from '../tools/tool-names.ts';
import type { PendingWrites } from './pending-writes.ts';

export interface ToolCallsOptions extends Pick<ConversationOptions, 'state' | 'key' | 'tools' | 'save'> {
  contextOf(key: string): ToolContext;
  /** Ends the run for now; the next start resumes it. */
  pause(): Promise<never>;
  progress(data: JsonObject): Promise<void>;
  readonly writes: PendingWrites;
}

export interface ToolCalls {
  readonly guards: Guards;
  /** Carries out a call once all earlier writes are durable. On return its result is being written. */
  run(call: PendingCall): Promise<void>;
  /** Answers a call that is not carried out. On return the answer is being written. */
  answer(call: PendingCall, result: ToolResult): void;
  /** Answers a call that a restart interrupted: it may have had its effect, a part of it, or none. */
  answerUnknown(call: PendingCall): void;
  /** Answers a call that is not carried out. The answer is durable with the next save. */
  answerUnsaved(call: PendingCall, result: ToolResult): void;
  /** The messages of a step, with the answers to calls that the SDK refused: of unknown tools, or cut. */
  accepted(messages: readonly ModelMessage[], end: StepEnd): ModelMessage[];
  /** True when the tool exists and its call may be repeated. */
  isRepeatable(call: PendingCall): boolean;
  guardStop(): GuardStop | undefined;
}

/** How the model's answer ended. */
export interface StepEnd {
  readonly finishReason: FinishReason;
  readonly maxOutputTokens: number;
}

const Target = z.object({ path: z.string().optional(), command: z.string().optional() });

interface Understood {
  readonly tool: AgentTool | undefined;
  readonly notes: readonly string[];
  readonly guarded: GuardedCall;
}

/** The maximum output of one call: a quarter of the context window, at four bytes per token. */
const outputBytes = (contextWindow: number): number => Math.min(64 * 1024, contextWindow);

/** Carries out the tool calls of a conversation, under its guards, and records them. */
export function createToolCalls(options: ToolCallsOptions, resources: RunResources): ToolCalls {
  const { state, writes } = options;
  const { signal, stopping, clock, log, task, hooks, files } = resources;
  const tools = new Map(options.tools.map((tool) => [tool.name, tool]));
  state.guards ??= newGuardState();
  const guards = createGuards(
    hooks,
    {
      taskId: task.id,
      journal: state.journal,
      files,
      canRun: tools.has('shell_exec'),
      maxOutputBytes: outputBytes(resources.model.info.contextWindow),
      log: logWith(log, taskFields(task)),
      onGuard: resources.onGuard,
    },
    state.guards,
  );
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
  const publicName = (call: PendingCall): string => {
    const { tool } = understood(call);
    return tool?.name ?? 'unknown';
  };

  function addResult(call: PendingCall, result: ToolResult): void {
    state.messages.push(toolMessage(call, result));
    state.memo = undefined;
  }

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

  async function execute(call: PendingCall, { tool, guarded }: Understood): Promise<ToolResult> {
    if (tool === undefined)
      return toolFailure(`there is no tool ${call.tool}; there are ${[...tools.keys()].join(', ')}`);
    try {
      return await tool.run(guarded.input, options.contextOf(keyOf(call)));
    } catch (error) {
      signal.throwIfAborted();
      if (stopping.aborted && error === stopping.reason) return await options.pause();
      log.error({ ...taskFields(task), tool: tool.name, err: error }, 'a tool failed unexpectedly');
      return toolFailure('the tool failed unexpectedly; try another way');
    }
  }

  return {
    guards,
    answerUnsaved,
    async run(call) {
      const tool = publicName(call);
      const meant = understood(call);
      writes.add(options.progress({ tool, phase: 'started' }));
      await writes.durable();
      const startedAt = clock.monotonic();
      const result = await execute(call, meant);
      const durationMs = Math.round(clock.monotonic() - startedAt);
      const { result: shown, notes, entry } = await guards.after(meant.guarded, result);
      addResult(call, withInputNotes(withNotes(shown, notes), meant.notes));
      const ended = { tool, phase: 'ended', ok: entry.ok, duration_ms: durationMs };
      writes.add(options.save(), options.progress(ended));
      if (hooks.logToolUse) {
        const detail = loggable(entry.detail ?? '');
        log.info(
          { ...taskFields(task), tool, ok: entry.ok, duration_ms: durationMs, detail },
          'a tool was used',
        );
      }
    },
    answer(call, result) {
      answerUnsaved(call, result);
      saveAnswer(call, result.ok);
    },
    answerUnknown(call) {
      const result = toolFailure(`${OUTCOME_UNKNOWN}: check before repeating it`);
      addResult(call, result);
      const target = targetOf(call);
      state.journal.push({
        ...entryOf(understood(call).guarded, result),
        ...(target && { detail: target, unknown: true }),
      });
      saveAnswer(call, false);
    },
    accepted: (messages, end) =>
      withRefusedCalls(messages, {
        ...end,
        meant: (name) => meantTool(name, names),
        refused: (call, reason) =>
          guards.refused({ ...call, key: '', mutates: tools.get(call.tool)?.mutates ?? false }, reason).notes,
      }),
    isRepeatable: (call) => understood(call).tool?.repeatable ?? false,
    guardStop: () => guards.state().stop,
  };
}
