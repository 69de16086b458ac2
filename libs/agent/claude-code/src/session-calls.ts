import {
  type AgentTool,
  type ConversationOptions,
  conversationGuards,
  createSerialQueue,
  cut,
  forgetCall,
  type GuardedCall,
  inToolSpan,
  loggable,
  type RunResources,
  type SessionState,
  type StartedCall,
  type ToolContext,
  withNotes,
} from '@hermes-fleet/loop';
import type { JsonObject } from '@hermes-fleet/protocol';
import { ToolError, type ToolResult, taskFields, toolFailure } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { createCallLimit } from './call-limit.ts';
import { checkNativePaths, normalizedPath } from './native-paths.ts';
import {
  isNative,
  type NativeCall,
  nativeCall,
  nativeFailure,
  nativeResult,
  replacedResponse,
} from './native-tools.ts';
import {
  annotateCall,
  denyCall,
  type ToolHookInput,
  type ToolUse,
  type ToolUseResult,
} from './sdk-messages.ts';
import type { HookAnswer } from './sdk-types.ts';

export interface SessionCallsOptions extends Pick<ConversationOptions, 'state' | 'key' | 'tools' | 'save'> {
  readonly session: () => SessionState | undefined;
  /** Aborts running and queued calls when their session ends. */
  readonly running: AbortSignal;
  contextOf(key: string): ToolContext;
  progress(data: JsonObject): Promise<void>;
  /** Returns the wrap-up prompt, when it is due, to add to a result. */
  wrapUpIfDue(): Promise<string | undefined>;
  /** Ends the session at once, with a running call that the next start resumes. */
  pause(): Promise<void>;
}

export type SessionCalls = ReturnType<typeof createSessionCalls>;

const ENDED = 'not run: the conversation was ended';
const STOPPING = 'Not run: the profile is stopping.';
const TOOLS_OFF = 'The tools are off. Answer in words.';

/**
 * The tool calls of a session of Claude Code: its own, reported by its hooks, and those of the agent's tools, with the guards and
 * the journal behind both (docs/claude-code.md#guards).
 */
export function createSessionCalls(options: SessionCallsOptions, resources: RunResources) {
  const { state, save, progress, session } = options;
  const { signal, stopping, log, task, files, clock, hooks } = resources;
  const served = new Map(
    options.tools.filter(({ name }) => !isNative(name)).map((tool) => [tool.name, tool]),
  );
  const offered = new Set(options.tools.map(({ name }) => name));
  const guards = conversationGuards(options, resources);
  const calls = new Map<string, ToolUse>();
  const spans = createNativeSpans(resources);
  const surplusOf = createCallLimit(state);
  const handled = new Set<string>();
  /** Orders everything that changes the state. */
  const record = createSerialQueue();
  /** Runs the agent's tools one at a time. */
  const inTurn = createSerialQueue();

  const keyOf = (id: string): string => `${options.key}${id}`;
  const nativeOf = ({ name, input }: ToolUse): NativeCall | undefined => {
    const call = nativeCall(name, input);
    return call !== undefined && offered.has(call.tool) ? call : undefined;
  };

  function guardedOf(call: ToolUse): GuardedCall {
    const { id, name, input } = call;
    const native = nativeOf(call);
    if (native)
      return { ...native, input: { ...native.input, path: normalizedPath(files, native) }, key: keyOf(id) };
    return { tool: name, input, key: keyOf(id), mutates: served.get(name)?.mutates ?? false };
  }

  async function refusalOf(call: ToolUse): Promise<string | undefined> {
    if (guards.before(guardedOf(call)).kind === 'stop') return ENDED;
    const native = nativeOf(call);
    if (native === undefined) return served.has(call.name) ? undefined : `there is no tool ${call.name}`;
    try {
      await checkNativePaths(files, native);
      return undefined;
    } catch (error) {
      if (error instanceof ToolError) return error.message;
      throw error;
    }
  }

  async function before(call: ToolUse): Promise<HookAnswer> {
    calls.set(call.id, call);
    // The message with this call has ended, and counts in `state.step`. A message without calls ends no run.
    guards.beforeStep(state.step);
    if (signal.aborted || stopping.aborted) {
      handled.add(call.id);
      return { ...denyCall(STOPPING), ...haltIfOver() };
    }
    const notNow = state.tools_off ? TOOLS_OFF : surplusOf(guardedOf(call).tool);
    if (notNow !== undefined) {
      handled.add(call.id);
      return denyCall(notNow);
    }
    const refusal = await refusalOf(call);
    if (refusal !== undefined) return { ...denyCall(refusal), ...haltIfOver() };
    const native = nativeOf(call);
    const changes = native?.mutates !== false;
    if (native) spans.begin(call.id, native.tool);
    if (changes) session()?.begun.push(startedCall(call, served.get(call.name)));
    // Begun in one turn, so that they share a commit.
    await Promise.all([native && progress({ tool: native.tool, phase: 'started' }), changes && save()]);
    return {};
  }

  /** Ends the session after this hook: Claude Code writes its session files, and stops. */
  function haltIfOver(): HookAnswer {
    if (guards.state().stop !== undefined) return { continue: false, stopReason: 'The run is ended.' };
    return stopping.aborted ? { continue: false, stopReason: 'The profile is stopping.' } : {};
  }

  function startedCall(call: ToolUse, tool: AgentTool | undefined): StartedCall {
    const input = tool?.repeatable ? z.json().safeParse(call.input) : undefined;
    const { command, path } = z.looseObject({}).catch({}).parse(guardedOf(call).input);
    const detail = [command, path].find((value) => typeof value === 'string');
    return {
      id: call.id,
      name: call.name,
      ...(typeof detail === 'string' && { detail: cut(detail) }),
      ...(input?.success && { input: input.data }),
    };
  }

  /** Records a result. Returns the guards' version of it, with their notes and a due wrap-up prompt. */
  async function recordResult(
    call: ToolUse,
    result: ToolResult,
    durationMs?: number,
  ): Promise<{ shown: ToolResult; notes: readonly string[]; changed: boolean }> {
    handled.add(call.id);
    const guarded = await guards.after(guardedOf(call), result);
    const { entry, result: shown } = guarded;
    spans.end(call.id, entry.ok);
    const started = session();
    if (started) started.begun = started.begun.filter(({ id }) => id !== call.id);
    // One of Claude Code's own tools may end while an agent's tool runs, which still needs its memo.
    forgetCall(state, keyOf(call.id));
    const wrapUp = guards.state().stop === undefined ? await options.wrapUpIfDue() : undefined;
    const tool = isKnown(call) ? guardedOf(call).tool : 'unknown';
    const duration: JsonObject = durationMs === undefined ? {} : { duration_ms: durationMs };
    // Begun in one turn, so that they share a commit.
    await Promise.all([save(), progress({ tool, phase: 'ended', ok: entry.ok, ...duration })]);
    if (hooks.logToolUse)
      log.info(
        { ...taskFields(task), tool, ok: entry.ok, ...duration, detail: loggable(entry.detail ?? '') },
        'a tool was used',
      );
    const notes = [...guarded.notes, ...(wrapUp === undefined ? [] : [wrapUp])];
    return { shown, notes, changed: shown.output !== result.output };
  }

  /** A tool name that the model made up is not reported. */
  const isKnown = (call: ToolUse): boolean => served.has(call.name) || nativeOf(call) !== undefined;

  async function serve(call: ToolUse): Promise<{ ok: boolean; text: string }> {
    const { name } = call;
    const tool = served.get(name);
    if (tool === undefined) return { ok: false, text: `there is no tool ${name}` };
    return inTurn(async () => {
      options.running.throwIfAborted();
      // Another call of the same step may have ended the run since `before`.
      if (guards.state().stop !== undefined && !state.tools_off) return { ok: false, text: ENDED };
      await progress({ tool: name, phase: 'started' });
      const startedAt = clock.monotonic();
      const result = await run(tool, call);
      const durationMs = Math.round(clock.monotonic() - startedAt);
      const { shown, notes } = await record(() => recordResult(call, result, durationMs));
      // Claude Code cuts the text of an error to a tenth, and the exit code already reports a failed command.
      const ok = shown.ok || shown.exitCode !== undefined;
      return { ok, text: textOf(withNotes(shown, notes)) };
    });
  }

  async function run(tool: AgentTool, { id, input }: ToolUse): Promise<ToolResult> {
    try {
      const context = options.contextOf(keyOf(id));
      return await inToolSpan(resources, tool.name, (own) => tool.run(input, { ...context, task: own }));
    } catch (error) {
      options.running.throwIfAborted();
      if (stopping.aborted && error === stopping.reason) {
        await options.pause();
        throw error;
      }
      log.error({ ...taskFields(task), tool: tool.name, err: error }, 'a tool failed unexpectedly');
      return toolFailure('the tool failed unexpectedly; try another way');
    }
  }

  return {
    guards,
    /** The agent's tools that no tool of Claude Code replaces. */
    servedTools: [...served.values()],
    before: (call: ToolUse) => record(() => before(call)),
    after: ({ call, response }: ToolHookInput) =>
      record(async (): Promise<HookAnswer> => {
        const native = nativeOf(call);
        if (native === undefined) return haltIfOver();
        const result = nativeResult(native, normalizedPath(files, native), response);
        const { shown, notes, changed } = await recordResult(call, result);
        const replaced = changed ? replacedResponse(native, response, textOf(shown)) : undefined;
        return { ...annotateCall('PostToolUse', notes, replaced), ...haltIfOver() };
      }),
    afterFailure: ({ call, error }: ToolHookInput) =>
      record(async (): Promise<HookAnswer> => {
        const native = nativeOf(call);
        if (native === undefined) return haltIfOver();
        const { notes } = await recordResult(
          call,
          nativeFailure(native, normalizedPath(files, native), error),
        );
        return { ...annotateCall('PostToolUseFailure', notes), ...haltIfOver() };
      }),
    serve,
    onCalls(made: readonly ToolUse[]): void {
      for (const call of made) calls.set(call.id, call);
    },
    /** Also reports calls that Claude Code refused before any hook. */
    onResults(results: readonly ToolUseResult[]): void {
      for (const { id, text } of results) {
        void record(async () => {
          const call = calls.get(id);
          calls.delete(id);
          if (call === undefined || handled.delete(id) || signal.aborted) return;
          const native = nativeOf(call);
          await recordResult(
            call,
            native ? nativeFailure(native, normalizedPath(files, native), text) : toolFailure(text),
          );
          handled.delete(id);
        });
      }
    },
    /** Repeats an interrupted call and returns its result; undefined when it must not be repeated. */
    async repeat({ id, name, input }: StartedCall): Promise<string | undefined> {
      if (!served.has(name) || input === undefined) return undefined;
      const { ok, text } = await serve({ id, name, input });
      return ok ? text : `It failed: ${text}`;
    },
    /** Resolves when all earlier calls and results are recorded. */
    settled: () => record(async () => {}),
    /** Resolves when none of the agent's tools is running. */
    async idle(): Promise<void> {
      await inTurn(async () => {});
      await record(async () => {});
    },
  };
}

const textOf = ({ output }: ToolResult): string =>
  typeof output === 'string' ? output : JSON.stringify(output);

/**
 * The spans of Claude Code's own tools, from the hook before a call to the record of its result. A call that gets no result, because
 * its session ended, has no span.
 */
function createNativeSpans({ task, tracing }: RunResources) {
  const running = new Map<string, (ended: { readonly ok: boolean }) => void>();
  return {
    begin(id: string, tool: string): void {
      if (tracing === undefined) return;
      const { promise, resolve } = Promise.withResolvers<{ readonly ok: boolean }>();
      running.set(id, resolve);
      void inToolSpan({ task, tracing }, tool, () => promise);
    },
    /** Ends the span of a call, if it has one. */
    end(id: string, ok: boolean): void {
      running.get(id)?.({ ok });
      running.delete(id);
    },
  };
}
