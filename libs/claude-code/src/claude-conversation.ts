import type { ToolContext } from '@hermes-fleet/agent';
import {
  type Conversation,
  createLoopConversation,
  createTextReporter,
  FOLLOW_UP_TOKENS,
  type TextReporter,
  toolContext,
} from '@hermes-fleet/agent';
import { type Clock, FleetError, type Ids, type JsonObject } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import { createClaudeCalls } from './claude-calls.ts';
import { type MeteringProxy, openMeteringProxy } from './metering-proxy.ts';
import { lastAsk, openingOf } from './opening.ts';
import { removeSession } from './remove-session.ts';
import type { ClaudeSdk } from './sdk.ts';
import { type ClaudeSession, startSession, type TurnEnd } from './session.ts';
import { sessionOptions } from './session-options.ts';

export interface ClaudeCodeOptions {
  readonly sdk: ClaudeSdk;
  /** The address of the provider's API, without `/v1`. */
  readonly upstream: string;
  readonly apiKey: string;
  /** As the provider knows the model, and as Claude Code is told of it (with `[1m]` for the long window). */
  readonly modelName: string;
  readonly modelInClaude: string;
  readonly countCache: boolean;
  readonly ids: Ids;
}

/** What Claude Code sends beside our prompt and the brief, before the first word. In tokens, and rather too many. */
export const BASE_TOKENS = 6000;
/** For what a session leaves behind to end: only a question to a person is not ended at once. */
const IDLE_MS = 5000;

/**
 * A conversation that Claude Code leads (design 3, Claude Code executor): the same to the executor as one of the loop,
 * with its own process, confined, behind a metering proxy of its own. Both are there from the first `toEnd` to `close`.
 */
export function createClaudeConversation(claude: ClaudeCodeOptions): typeof createLoopConversation {
  return (o, parts) => {
    const { state } = o;
    const { signal, stopping, budget, task, workspace, log } = parts;
    let meter: MeteringProxy | undefined;
    let session: ClaudeSession | undefined;
    let reporter: TextReporter | undefined;
    let events: Promise<void> = Promise.resolve();
    /** Ends the calls of tools that the session leaves behind. */
    const over = new AbortController();
    const running = AbortSignal.any([signal, over.signal]);
    /** What calls under way may never take counts as left. */
    const reserved = (): number => meter?.reservedOutput() ?? 0;
    const left = (): number => Math.max(0, budget.remaining() + reserved() - o.keepTokens);

    async function progress(data: JsonObject): Promise<void> {
      const spent = { spent_tokens: budget.spent() - reserved(), budget_tokens: budget.limit ?? null };
      await parts.report({
        type: 'progress',
        data: { step: state.step, ...o.progressFields, ...data, ...spent },
      });
    }

    const calls = createClaudeCalls(
      {
        ...o,
        running,
        contextOf,
        progress,
        wrapUpIfDue,
        session: () => state.claude,
        async pause() {
          await o.save();
          over.abort(stopping.reason);
          session?.end(stopping.reason);
        },
      },
      parts,
    );

    function contextOf(key: string): ToolContext {
      const inner = { ...parts, signal: running };
      return toolContext(key, { ...o, budget, inputTokens, converse: createLoopConversation }, inner);
    }

    async function inputTokens(): Promise<number> {
      const known = meter?.expected().total ?? 0;
      return known > 0
        ? known
        : BASE_TOKENS + (await countTokens(o.instructions + JSON.stringify(state.messages)));
    }

    /** What of the budget the next call takes for its input: most of it comes from the provider's cache. */
    async function billedTokens(): Promise<number> {
      const known = meter?.expected().billed ?? 0;
      return known > 0 ? known : inputTokens();
    }

    async function wrapUpIfDue(): Promise<string | undefined> {
      if (state.step === 0 || state.wrapped_up || state.tools_off) return undefined;
      if (left() >= 2 * ((await billedTokens()) + FOLLOW_UP_TOKENS)) return undefined;
      const words = o.wrapUpPrompt(left());
      ask(words, 'off');
      state.wrapped_up = true;
      parts.onGuard?.('budget', 'wrap_up');
      return words;
    }

    function ask(message: string, offered: 'on' | 'off'): void {
      state.messages.push({ role: 'user', content: message });
      state.tools_off = offered === 'off';
      state.finished = undefined;
    }

    /** One event after the other; a store that fails ends the session. */
    function emit(work: () => Promise<void>): void {
      events = events.then(work);
      events.catch((error: unknown) => session?.end(error));
    }

    function stepped(): void {
      state.step += 1;
      const finished = reporter;
      reporter = undefined;
      emit(async () => {
        await finished?.finish();
        await progress({});
      });
    }

    async function open(prompt: string, resumed: boolean): Promise<ClaudeSession> {
      meter ??= await openMeteringProxy({ ...claude, ...parts });
      state.claude ??= { id: claude.ids.uuid(), begun: [] };
      const { id } = state.claude;
      await o.save();
      const opened = startSession({
        sdk: claude.sdk,
        workspace,
        prompt,
        clock: parts.clock,
        ...sessionOptions({ model: claude.modelInClaude, id, resumed, meter, calls }, o, parts),
        hooks: {
          onText(delta) {
            if (!o.streamsText) return;
            reporter ??= createTextReporter(parts.report, parts.clock);
            reporter.push(delta);
          },
          onStep: stepped,
          onCalls: calls.seen,
          onResults: calls.results,
          beforeTool: calls.before,
          afterTool: calls.after,
          afterFailure: calls.failed,
          settled: async () => {
            await calls.settled();
            await events.catch(() => {});
          },
        },
      });
      session = opened;
      if (signal.aborted) opened.end(signal.reason);
      return opened;
    }

    async function takeTurn(): Promise<TurnEnd> {
      if (session?.goOn(lastAsk(state))) return session.turn();
      await session?.[Symbol.asyncDispose]();
      const { prompt, resumed, anew } = await openingOf(state, calls);
      const opened = await open(prompt, resumed);
      const end = await opened.turn();
      if (end.kind !== 'lost') return end;
      // It was cut off before it had begun, or is gone.
      log.warn({ task_id: task.id }, 'a session of Claude Code is gone; the run goes on in a new one');
      await opened[Symbol.asyncDispose]();
      state.claude = undefined;
      return (await open(anew, false)).turn();
    }

    /** Whether the next start takes the run up again, with its session. */
    const goesOnLater = (): boolean =>
      stopping.aborted || (signal.reason instanceof FleetError && signal.reason.code === 'SHUTTING_DOWN');

    /** A guard has ended it; a last question it answers all the same, without tools. */
    const isStopped = (): boolean => calls.guards.state().stop !== undefined && !state.tools_off;

    async function toEnd(): Promise<boolean> {
      if (state.finished !== undefined) return true;
      if (isStopped() || state.step >= o.maxSteps) return false;
      const abort = (): void => session?.end(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      try {
        signal.throwIfAborted();
        stopping.throwIfAborted();
        const end = await takeTurn();
        await events;
        if (end.kind === 'step_limit' || isStopped()) return false;
        if (end.kind === 'halted') stopping.throwIfAborted();
        if (end.kind !== 'done') throw failureOf(end);
        if (end.text !== '') state.messages.push({ role: 'assistant', content: end.text });
        state.finished = FINISHED[meter?.stopReason() ?? ''] ?? 'stop';
        await o.save();
        return true;
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', abort);
        await reporter?.finish();
        reporter = undefined;
      }
    }

    function failureOf(end: TurnEnd): FleetError {
      const failure = meter?.failure();
      if (failure !== undefined) return failure;
      const detail = end.kind === 'failed' ? end.detail : end.kind;
      const cause = end.kind === 'failed' ? end.cause : undefined;
      log.error({ task_id: task.id, err: cause, detail, stderr: session?.stderr() }, 'Claude Code failed');
      return new FleetError('MODEL_FAILED', 'Claude Code failed; the log has the reason', {
        cause,
        retryable: true,
      });
    }

    const conversation: Conversation = {
      runToEnd: toEnd,
      followUp: ask,
      async canAfford(steps, question = '') {
        if (state.step + steps > o.maxSteps) return false;
        const more = (await countTokens(question)) + FOLLOW_UP_TOKENS;
        if ((await inputTokens()) + more > parts.model.info.contextWindow) return false;
        return steps * ((await billedTokens()) + more) <= left();
      },
      inputTokens,
      guards: calls.guards,
      guardStop: () => calls.guards.state().stop,
      async close() {
        await session?.[Symbol.asyncDispose]();
        over.abort(new Error('the session of Claude Code has ended'));
        await within(calls.idle(), IDLE_MS, parts.clock);
        await meter?.[Symbol.asyncDispose]();
        if (session === undefined || goesOnLater()) return;
        session = undefined;
        await removeSession(parts);
      },
    };
    return conversation;
  };
}

const FINISHED: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content-filter',
};

/** Waits for `work`, at most `ms`. */
async function within(work: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([work, clock.sleep(ms, done.signal).catch(() => {})]);
  } finally {
    done.abort();
  }
}
