import { addAbortListener } from 'node:events';
import {
  type Conversation,
  type CreateConversation,
  createCallTokens,
  createLoopConversation,
  createTextReporter,
  FOLLOW_UP_TOKENS,
  type TextReporter,
  type ToolContext,
  toolContext,
} from '@hermes-fleet/loop';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { type Ids, isWithin, taskFields } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { type MeteringProxy, openMeteringProxy } from './metering-proxy.ts';
import type { ClaudeSdk } from './sdk.ts';
import type { TurnEnd } from './sdk-messages.ts';
import { type ClaudeSession, startSession } from './session.ts';
import { createSessionCalls } from './session-calls.ts';
import { removeSession, sessionOptions } from './session-options.ts';
import { lastFollowUp, sessionPrompt } from './session-prompt.ts';

export interface ClaudeCodeOptions {
  readonly sdk: ClaudeSdk;
  /** The address of the provider's API, without `/v1`. */
  readonly upstream: string;
  readonly apiKey: string;
  /** The provider's name of the model. */
  readonly modelName: string;
  /** Claude Code's name of the model, with `[1m]` for the long context window. */
  readonly modelInClaude: string;
  readonly countCache: boolean;
  readonly ids: Ids;
}

/** An upper estimate of what Claude Code adds to the agent's prompt and the brief. In tokens. */
export const BASE_TOKENS = 6000;
/** How long `close` waits for the session's calls. Only a question to a person does not end at once. */
const IDLE_MS = 5000;

/**
 * Creates conversations that Claude Code leads (docs/claude-code.md), for the same executor as the agent loop. Each has
 * its own confined process and its own metering proxy, from the first `runToEnd` to `close`.
 */
export function createClaudeConversation(claude: ClaudeCodeOptions): CreateConversation {
  return (options, resources) => {
    const { state, save, maxSteps } = options;
    const { signal, stopping, budget, task, workspace, log, clock, reportEvent } = resources;
    let proxy: MeteringProxy | undefined;
    let session: ClaudeSession | undefined;
    let reporter: TextReporter | undefined;
    let events: Promise<void> = Promise.resolve();
    const tokens = createCallTokens();
    /** Ends the tool calls of a session that is over. */
    const over = new AbortController();
    const running = AbortSignal.any([signal, over.signal]);
    /** Reserved output counts as left: running calls may never use it. */
    const reserved = (): number => proxy?.reservedOutput() ?? 0;
    const left = (): number => Math.max(0, budget.remaining() + reserved() - options.keepTokens);

    async function progress(data: JsonObject, used = tokens.takeFields()): Promise<void> {
      const spent = { spent_tokens: budget.spent() - reserved(), budget_tokens: budget.limit ?? null };
      await reportEvent({
        type: 'progress',
        data: { step: state.step, ...options.progressFields, ...data, ...spent, ...used },
      });
    }

    const calls = createSessionCalls(
      {
        ...options,
        running,
        contextOf,
        progress,
        wrapUpIfDue,
        session: () => state.session,
        async pause() {
          await save();
          over.abort(stopping.reason);
          session?.kill(stopping.reason);
        },
      },
      resources,
    );

    function contextOf(key: string): ToolContext {
      return toolContext(
        key,
        { ...options, budget, inputTokens, converse: createLoopConversation },
        { ...resources, signal: running },
      );
    }

    async function inputTokens(): Promise<number> {
      const known = proxy?.expected().total ?? 0;
      return known > 0
        ? known
        : BASE_TOKENS + (await countTokens(options.instructions + JSON.stringify(state.messages)));
    }

    /** The input that the next call takes from the budget: most of it comes from the provider's cache. */
    async function billedTokens(): Promise<number> {
      const known = proxy?.expected().billed ?? 0;
      return known > 0 ? known : inputTokens();
    }

    async function wrapUpIfDue(): Promise<string | undefined> {
      if (state.step === 0 || state.wrapped_up || state.tools_off) return undefined;
      if (left() >= 2 * ((await billedTokens()) + FOLLOW_UP_TOKENS)) return undefined;
      const prompt = options.wrapUpPrompt({ limit: 'budget', leftTokens: left() });
      followUp(prompt, 'off');
      state.wrapped_up = true;
      resources.onGuard?.('budget', 'wrap_up');
      return prompt;
    }

    function followUp(message: string, tools: 'on' | 'off'): void {
      state.messages.push({ role: 'user', content: message });
      state.tools_off = tools === 'off';
      state.finished = undefined;
    }

    /** Stores events in order. An event that cannot be stored ends the session. */
    function emit(work: () => Promise<void>): void {
      events = events.then(work);
      events.catch((error: unknown) => session?.kill(error));
    }

    function onStep(): void {
      state.step += 1;
      const finished = reporter;
      reporter = undefined;
      emit(async () => {
        // Begun in one turn, so that they share a commit.
        await Promise.all([finished?.finish(), progress({})]);
      });
    }

    async function openSession(prompt: string, resumed: boolean): Promise<ClaudeSession> {
      proxy ??= await openMeteringProxy({ ...claude, ...resources, onUsage: tokens.add });
      state.session ??= { id: claude.ids.uuid(), begun: [] };
      const { id } = state.session;
      await save();
      const opened = startSession({
        sdk: claude.sdk,
        workspace,
        prompt,
        clock,
        ...sessionOptions({ model: claude.modelInClaude, id, resumed, proxy, calls }, options, resources),
        handlers: {
          ...calls,
          onText(delta) {
            if (!options.streamsText) return;
            reporter ??= createTextReporter(reportEvent, clock);
            reporter.push(delta);
          },
          onStep,
          settled: async () => {
            await calls.settled();
            await events.catch(() => {});
          },
        },
      });
      session = opened;
      if (signal.aborted) opened.kill(signal.reason);
      return opened;
    }

    async function runTurn(): Promise<TurnEnd> {
      if (session !== undefined) await save();
      if (session?.followUp(lastFollowUp(state))) return session.turn();
      await session?.[Symbol.asyncDispose]();
      const { prompt, resumed, ifLost } = await sessionPrompt(state, calls);
      const opened = await openSession(prompt, resumed);
      const end = await opened.turn();
      if (end.kind !== 'lost') return end;
      // The session ended before it wrote its files, or they were removed.
      log.warn({ ...taskFields(task) }, 'a session of Claude Code is lost; the run continues in a new one');
      await opened[Symbol.asyncDispose]();
      state.session = undefined;
      return (await openSession(ifLost, false)).turn();
    }

    /** True when the next start resumes the run and needs its session files. */
    const resumesLater = (): boolean =>
      stopping.aborted || (signal.reason instanceof FleetError && signal.reason.code === 'SHUTTING_DOWN');

    /** A conversation that a guard ended still answers a follow-up prompt without tools. */
    const isStopped = (): boolean => calls.guards.state().stop !== undefined && !state.tools_off;

    async function runToEnd(): Promise<boolean> {
      if (state.finished !== undefined) return true;
      if (isStopped() || state.step >= maxSteps) return false;
      using _aborted = addAbortListener(signal, () => session?.kill(signal.reason));
      try {
        signal.throwIfAborted();
        stopping.throwIfAborted();
        const end = await runTurn();
        await events;
        if (end.kind === 'step_limit' || isStopped()) return false;
        if (end.kind === 'halted') stopping.throwIfAborted();
        if (end.kind !== 'done') throw failureOf(end);
        if (end.text !== '') state.messages.push({ role: 'assistant', content: end.text });
        state.finished = FINISH_REASONS[proxy?.stopReason() ?? ''] ?? 'stop';
        await save();
        return true;
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        await reporter?.finish();
        reporter = undefined;
      }
    }

    function failureOf(end: TurnEnd): FleetError {
      const failure = session?.failure() ?? proxy?.failure();
      if (failure !== undefined) return failure;
      const detail = end.kind === 'failed' ? end.detail : end.kind;
      const cause = end.kind === 'failed' ? end.cause : undefined;
      log.error({ ...taskFields(task), err: cause, detail, stderr: session?.stderr() }, 'Claude Code failed');
      return new FleetError('MODEL_FAILED', 'Claude Code failed; the log has the reason', {
        cause,
        retryable: true,
      });
    }

    const conversation: Conversation = {
      runToEnd,
      followUp,
      async canAfford(steps, prompt = '') {
        if (state.step + steps > maxSteps) return false;
        const more = (await countTokens(prompt)) + FOLLOW_UP_TOKENS;
        if ((await inputTokens()) + more > resources.model.info.contextWindow) return false;
        return steps * ((await billedTokens()) + more) <= left();
      },
      inputTokens,
      guards: calls.guards,
      guardStop: () => calls.guards.state().stop,
      async close() {
        await session?.[Symbol.asyncDispose]();
        over.abort(new Error('the session of Claude Code has ended'));
        await isWithin(calls.idle(), IDLE_MS, clock);
        await proxy?.[Symbol.asyncDispose]();
        // A call is settled after its response has reached Claude Code.
        const rest = tokens.takeFields();
        if (Object.keys(rest).length > 0)
          await progress({}, rest).catch((err: unknown) =>
            log.warn({ ...taskFields(task), err }, 'the last model calls of a run have no event'),
          );
        if (session === undefined || resumesLater()) return;
        session = undefined;
        await removeSession(resources);
      },
    };
    return conversation;
  };
}

/** Finish reasons of the AI SDK, by the provider's `stop_reason`. */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content-filter',
};
