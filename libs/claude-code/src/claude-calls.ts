import type {
  AgentTool,
  ClaudeSessionState,
  ConversationOptions,
  RunResources,
  StartedCall,
  ToolContext,
} from '@hermes-fleet/agent';
import {
  createGuards,
  cut,
  type GuardedCall,
  type Guards,
  loggable,
  MAX_OUTPUT_BYTES,
  newGuardState,
  withNotes,
} from '@hermes-fleet/agent';
import {
  type JsonObject,
  type JsonValue,
  ToolError,
  type ToolResult,
  toolFailure,
} from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { CallResult, ModelCall, ToolHookInput } from './messages.ts';
import { checkPlaces } from './native-places.ts';
import {
  isNative,
  type NativeCall,
  nativeCall,
  nativeFailure,
  nativeResult,
  replacedOutput,
} from './native-tools.ts';
import type { HookAnswer } from './query-options.ts';
import { createQueue } from './queue.ts';
import type { ServedCall, ShownTool } from './tool-server.ts';
import { NOT_RUN, TOOLS_OFF } from './words.ts';

export interface ClaudeCallsOptions extends Pick<ConversationOptions, 'state' | 'key' | 'tools' | 'save'> {
  /** What of the session a restart has to know. */
  readonly session: () => ClaudeSessionState | undefined;
  /** Ends the calls under way, and those that wait for them, with the session that made them. */
  readonly running: AbortSignal;
  contextOf(key: string): ToolContext;
  progress(data: JsonObject): Promise<void>;
  /** What the model is to be told beside a result, now that it has one. */
  wrapUpIfDue(): Promise<string | undefined>;
  /** Ends the session at once, with a call under way that the next start goes on with. */
  pause(): Promise<void>;
}

/** The calls of a session: Claude Code's own as its hooks tell of them, and those of our tools, which run here. */
export interface ClaudeCalls {
  readonly guards: Guards;
  /** Our tools that Claude Code has no own one for. */
  readonly shown: readonly ShownTool[];
  before(call: ModelCall): Promise<HookAnswer>;
  after(hook: ToolHookInput): Promise<HookAnswer>;
  failed(hook: ToolHookInput): Promise<HookAnswer>;
  serve(call: ServedCall): Promise<{ readonly ok: boolean; readonly text: string }>;
  seen(calls: readonly ModelCall[]): void;
  /** Results that no hook told of: calls that were refused before they began. */
  results(results: readonly CallResult[]): void;
  /** Carries out a call again that a restart cut off; undefined where it must not be. */
  again(call: StartedCall): Promise<string | undefined>;
  /** Resolves when all that was seen so far is recorded. */
  settled(): Promise<void>;
  /** Resolves when no tool of ours runs any more. */
  idle(): Promise<void>;
}

const Json = z.json();
const ENDED = 'not run: the conversation was ended';

/** The guards, the journal and the tools behind a session of Claude Code (design 3, Claude Code executor). */
export function createClaudeCalls(o: ClaudeCallsOptions, parts: RunResources): ClaudeCalls {
  const { state } = o;
  const { signal, stopping, log, task, files, clock } = parts;
  const own = new Map(o.tools.filter(({ name }) => !isNative(name)).map((tool) => [tool.name, tool]));
  const offered = new Set(o.tools.map(({ name }) => name));
  state.guards ??= newGuardState();
  const guards = createGuards(
    parts.hooks,
    {
      taskId: task.id,
      journal: state.journal,
      files,
      log,
      onGuard: parts.onGuard,
      canRun: own.has('shell_exec'),
      maxOutputBytes: Math.min(MAX_OUTPUT_BYTES, parts.model.info.contextWindow),
    },
    state.guards,
  );
  const called = new Map<string, ModelCall>();
  const handled = new Set<string>();
  const record = createQueue();
  const turns = createQueue();

  const keyOf = (id: string): string => `${o.key}${id}`;
  const nativeOf = ({ name, input }: ModelCall): NativeCall | undefined => {
    const call = nativeCall(name, input);
    return call !== undefined && offered.has(call.tool) ? call : undefined;
  };

  function guardedOf({ id, name, input }: ModelCall): GuardedCall {
    const native = nativeOf({ id, name, input });
    const path = native && placeOf(native);
    if (native) return { ...native, input: { ...native.input, path }, key: keyOf(id) };
    return { tool: name, input, key: keyOf(id), mutates: own.get(name)?.mutates ?? false };
  }

  /** The path of a call as our tools write it; outside of the workspace it stays as it is. */
  function placeOf({ path }: NativeCall): string {
    try {
      return files.normalize(path);
    } catch (error) {
      if (error instanceof ToolError) return path;
      throw error;
    }
  }

  async function refusalOf(call: ModelCall): Promise<string | undefined> {
    if (guards.before(guardedOf(call)).kind === 'stop') return ENDED;
    const native = nativeOf(call);
    if (native === undefined) return own.has(call.name) ? undefined : `there is no tool ${call.name}`;
    try {
      await checkPlaces(files, native);
      return undefined;
    } catch (error) {
      if (error instanceof ToolError) return error.message;
      throw error;
    }
  }

  async function before(call: ModelCall): Promise<HookAnswer> {
    called.set(call.id, call);
    if (signal.aborted || stopping.aborted) {
      handled.add(call.id);
      return { ...denied(NOT_RUN), ...halt() };
    }
    if (state.tools_off) {
      handled.add(call.id);
      return denied(TOOLS_OFF);
    }
    const refusal = await refusalOf(call);
    if (refusal !== undefined) return { ...denied(refusal), ...halt() };
    const tool = own.get(call.name);
    const native = nativeOf(call);
    if (native !== undefined) await o.progress({ tool: native.tool, phase: 'started' });
    if (native?.mutates === false) return {};
    o.session()?.begun.push(begun(call, tool));
    await o.save();
    return {};
  }

  /** Ends the session behind this call: it writes down what came of it, and stops. */
  function halt(): HookAnswer {
    if (guards.state().stop !== undefined) return { continue: false, stopReason: 'The run is ended.' };
    return stopping.aborted ? { continue: false, stopReason: 'The profile is stopping.' } : {};
  }

  function begun(call: ModelCall, tool: AgentTool | undefined): StartedCall {
    const input = tool?.repeatable ? Json.safeParse(call.input) : undefined;
    const { command, path } = z.looseObject({}).catch({}).parse(guardedOf(call).input);
    const detail = [command, path].find((value) => typeof value === 'string');
    return {
      id: call.id,
      name: call.name,
      ...(typeof detail === 'string' && { detail: cut(detail) }),
      ...(input?.success && { input: input.data }),
    };
  }

  /** Records what a call came to, and returns what the model is told: by the guards, and by what is left of the budget. */
  async function ended(
    call: ModelCall,
    result: ToolResult,
    durationMs?: number,
  ): Promise<{ shown: ToolResult; notes: readonly string[]; changed: boolean }> {
    handled.add(call.id);
    const guarded = await guards.after(guardedOf(call), result);
    const { entry, result: shown, stop } = guarded;
    const session = o.session();
    if (session) session.begun = session.begun.filter(({ id }) => id !== call.id);
    // A call of Claude Code's own tools may end beside one of ours, which still needs its memo.
    if (state.memo?.key === keyOf(call.id)) state.memo = undefined;
    const wrapUp = stop === undefined ? await o.wrapUpIfDue() : undefined;
    await o.save();
    const tool = isKnown(call) ? guardedOf(call).tool : 'unknown';
    const took: JsonObject = durationMs === undefined ? {} : { duration_ms: durationMs };
    if (parts.hooks.logToolUse)
      log.info(
        { task_id: task.id, tool, ok: entry.ok, ...took, detail: loggable(entry.detail ?? '') },
        'a tool was used',
      );
    await o.progress({ tool, phase: 'ended', ok: entry.ok, ...took });
    const notes = [...guarded.notes, ...(wrapUp === undefined ? [] : [wrapUp])];
    return { shown, notes, changed: shown.output !== result.output };
  }

  /** A name that the model made up is its text, and stays here. */
  const isKnown = (call: ModelCall): boolean => own.has(call.name) || nativeOf(call) !== undefined;

  async function serve({ id, tool: name, input }: ServedCall): Promise<{ ok: boolean; text: string }> {
    const tool = own.get(name);
    if (tool === undefined) return { ok: false, text: `there is no tool ${name}` };
    const call: ModelCall = { id, name, input };
    return turns(async () => {
      o.running.throwIfAborted();
      // Another call of the same step has ended the run since this one was let through.
      if (guards.state().stop !== undefined && !state.tools_off) return { ok: false, text: ENDED };
      await o.progress({ tool: name, phase: 'started' });
      const began = clock.now();
      const result = await run(tool, call);
      const { shown, notes } = await record(() => ended(call, result, Math.max(0, clock.now() - began)));
      // Claude Code cuts what it is told of as an error to a tenth; a command's exit code tells as well.
      const ok = shown.ok || shown.exitCode !== undefined;
      return { ok, text: textOf(withNotes(shown, notes).output) };
    });
  }

  async function run(tool: AgentTool, { id, input }: ModelCall): Promise<ToolResult> {
    try {
      return await tool.run(input, o.contextOf(keyOf(id)));
    } catch (error) {
      o.running.throwIfAborted();
      if (stopping.aborted && error === stopping.reason) {
        await o.pause();
        throw error;
      }
      log.error({ task_id: task.id, tool: tool.name, err: error }, 'a tool failed unexpectedly');
      return toolFailure('the tool failed for a reason of its own; try another way');
    }
  }

  return {
    guards,
    shown: [...own.values()].map(({ name, description, parameters }) => ({ name, description, parameters })),
    before: (call) => record(() => before(call)),
    after: ({ call, response }) =>
      record(async () => {
        const native = nativeOf(call);
        if (native === undefined) return halt();
        const { shown, notes, changed } = await ended(call, nativeResult(native, placeOf(native), response));
        const replaced = changed ? replacedOutput(native, response, textOf(shown.output)) : undefined;
        return { ...told('PostToolUse', notes, replaced), ...halt() };
      }),
    failed: ({ call, error }) =>
      record(async () => {
        const native = nativeOf(call);
        if (native === undefined) return halt();
        const { notes } = await ended(call, nativeFailure(native, placeOf(native), error));
        return { ...told('PostToolUseFailure', notes), ...halt() };
      }),
    serve,
    seen(calls) {
      for (const call of calls) called.set(call.id, call);
    },
    results(results) {
      for (const { id, text } of results) {
        void record(async () => {
          const call = called.get(id);
          called.delete(id);
          if (call === undefined || handled.delete(id) || signal.aborted) return;
          const native = nativeOf(call);
          const result = native ? nativeFailure(native, placeOf(native), text) : toolFailure(text);
          await ended(call, result);
          handled.delete(id);
        });
      }
    },
    async again({ id, name, input }) {
      const tool = own.get(name);
      if (tool === undefined || input === undefined) return undefined;
      const { ok, text } = await serve({ id, tool: name, input });
      return ok ? text : `It failed: ${text}`;
    },
    settled: () => record(async () => {}),
    async idle() {
      await turns(async () => {});
      await record(async () => {});
    },
  };
}

const textOf = (output: JsonValue): string => (typeof output === 'string' ? output : JSON.stringify(output));

const denied = (reason: string): HookAnswer => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
  },
});

function told(
  hookEventName: 'PostToolUse' | 'PostToolUseFailure',
  notes: readonly string[],
  updatedToolOutput?: unknown,
): HookAnswer {
  const additionalContext = notes.length > 0 ? { additionalContext: notes.join('\n') } : {};
  const updated = updatedToolOutput === undefined ? {} : { updatedToolOutput };
  return { hookSpecificOutput: { hookEventName, ...additionalContext, ...updated } };
}
