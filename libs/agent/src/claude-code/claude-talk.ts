import { FleetError, type Ids, type JsonObject } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import { ASK_TOKENS, createTalk, type Talk, type TalkOptions } from '../loop/talk.ts';
import { createTextReporter, type TextReporter } from '../loop/text-reporter.ts';
import { doneSoFar } from '../loop/verification.ts';
import type { ToolContext } from '../tools/tool.ts';
import { createClaudeCalls } from './claude-calls.ts';
import { CLAUDE_DIR, claudeEnvironment } from './environment.ts';
import { type MeteringProxy, openMeteringProxy } from './metering-proxy.ts';
import { isNative, nameInClaude } from './native-tools.ts';
import type { ClaudeSdk } from './sdk.ts';
import { type ClaudeSession, startSession, type TurnEnd } from './session.ts';
import { toolServer } from './tool-server.ts';
import { type CutOff, restartMessage } from './words.ts';

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
const SERVER = 'fleet';

/**
 * A conversation that Claude Code leads (design 3, Claude Code executor): the same to the executor as one of the loop,
 * with its own process, confined, behind a metering proxy of its own. Both are there from the first `toEnd` to `close`.
 */
export function createClaudeTalk(claude: ClaudeCodeOptions): typeof createTalk {
  return (o, parts) => {
    const { state } = o;
    const { signal, stopping, budget, task, workspace, log } = parts;
    let meter: MeteringProxy | undefined;
    let session: ClaudeSession | undefined;
    let reporter: TextReporter | undefined;
    let events: Promise<void> = Promise.resolve();
    const left = (): number => Math.max(0, budget.remaining() - o.keepTokens);

    async function progress(data: JsonObject): Promise<void> {
      const spent = { spent_tokens: budget.spent(), budget_tokens: budget.limit ?? null };
      await parts.report({ type: 'progress', data: { step: state.step, ...o.mark, ...data, ...spent } });
    }

    const calls = createClaudeCalls(
      {
        ...{ ...o, contextOf, progress, wrapUpIfDue },
        session: () => state.claude,
        async end(reason) {
          if (reason === 'stopping') await o.save();
          session?.end(reason === 'stopping' ? stopping.reason : GUARD_STOP);
        },
      },
      parts,
    );

    function contextOf(key: string): ToolContext {
      const { files, report, park, ask } = parts;
      return {
        ...{ task, workspace, files, report, park, ask, budget, signal, stopping, key },
        memo: {
          load: () => (state.memo?.key === key ? state.memo.value : undefined),
          save: async (value) => {
            state.memo = { key, value };
            await o.save();
          },
        },
        conversation: {
          tools: o.tools,
          inputTokens,
          record: (entries) => void state.journal.push(...entries),
        },
        converse: (options) => createTalk({ ...options, key: `${key}/` }, parts),
      };
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
      if (left() >= 2 * ((await billedTokens()) + ASK_TOKENS)) return undefined;
      const words = o.wrapUp(left());
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

    async function open(prompt: string, resumed: boolean): Promise<void> {
      meter ??= await openMeteringProxy({ ...claude, ...parts });
      state.claude ??= { id: claude.ids.uuid(), begun: [] };
      const { id } = state.claude;
      await o.save();
      session = startSession({
        ...{ sdk: claude.sdk, workspace, prompt },
        env: claudeEnvironment({
          ...{ dir: workspace.dir, taskId: task.id, model: claude.modelInClaude, limits: parts.limits },
          ...{ address: meter.url, key: meter.key },
        }),
        query: {
          ...FIXED,
          model: claude.modelInClaude,
          systemPrompt: o.instructions,
          tools: nativeNames(o),
          allowedTools: [...nativeNames(o), `mcp__${SERVER}`],
          maxTurns: Math.max(1, o.maxSteps - state.step),
          mcpServers: { [SERVER]: toolServer({ name: SERVER, tools: calls.shown, call: calls.serve }) },
          ...(resumed ? { resume: id } : { sessionId: id }),
        },
        hooks: {
          onText(delta) {
            if (!o.shown) return;
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
      if (signal.aborted) session.end(signal.reason);
    }

    /** What the session is told first: the task; after a restart what came of it, and what was asked last. */
    async function opening(): Promise<{ prompt: string; resumed: boolean }> {
      const [first, ...later] = state.messages.flatMap(({ role, content }) =>
        role === 'user' && typeof content === 'string' ? [content] : [],
      );
      const task = first ?? '';
      const asked = state.messages.at(-1)?.role === 'user' ? later.at(-1) : undefined;
      if (state.claude === undefined) return { prompt: task, resumed: false };
      const cutOff: CutOff[] = [];
      for (const call of [...state.claude.begun]) {
        cutOff.push({ name: call.name, detail: call.detail, outcome: await calls.again(call) });
      }
      state.claude.begun = [];
      return { prompt: restartMessage({ calls: cutOff, ask: asked, lost: undefined }), resumed: true };
    }

    /** Starts over where there is no session to go on with: it was cut off before it had begun, or is gone. */
    async function openAfresh(): Promise<void> {
      await session?.[Symbol.asyncDispose]();
      const [first, ...later] = state.messages.flatMap(({ role, content }) =>
        role === 'user' && typeof content === 'string' ? [content] : [],
      );
      state.claude = undefined;
      const done = doneSoFar(state.journal);
      const lost = { task: first ?? '', done };
      log.warn({ task_id: task.id }, 'a session of Claude Code is gone; the run goes on in a new one');
      await open(restartMessage({ calls: [], ask: later.at(-1), lost }), false);
    }

    async function takeTurn(): Promise<TurnEnd> {
      if (session === undefined || !session.goOn(lastAsk(state.messages))) {
        await session?.[Symbol.asyncDispose]();
        const { prompt, resumed } = await opening();
        await open(prompt, resumed);
      }
      const end = await session?.turn();
      if (end?.kind !== 'lost') return end ?? { kind: 'failed', detail: 'it was not started' };
      await openAfresh();
      return (await session?.turn()) ?? { kind: 'failed', detail: 'it was not started' };
    }

    async function toEnd(): Promise<boolean> {
      if (state.finished !== undefined) return true;
      if (calls.guards.state().stop !== undefined) return false;
      if (state.step >= o.maxSteps) return false;
      const abort = (): void => session?.end(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      try {
        signal.throwIfAborted();
        stopping.throwIfAborted();
        const end = await takeTurn();
        await events;
        if (end.kind === 'step_limit') return false;
        if (end.kind !== 'done') throw failureOf(end);
        if (end.text !== '') state.messages.push({ role: 'assistant', content: end.text });
        state.finished = FINISHED[meter?.stopReason() ?? ''] ?? 'stop';
        await o.save();
        return true;
      } catch (error) {
        signal.throwIfAborted();
        if (error === GUARD_STOP) return false;
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

    const talk: Talk = {
      toEnd,
      ask,
      async affords(steps, question = '') {
        if (state.step + steps > o.maxSteps) return false;
        const more = (await countTokens(question)) + ASK_TOKENS;
        if ((await inputTokens()) + more > parts.model.info.contextWindow) return false;
        return steps * ((await billedTokens()) + more) <= left();
      },
      inputTokens,
      guards: calls.guards,
      stopped: () => calls.guards.state().stop,
      async close() {
        await session?.[Symbol.asyncDispose]();
        session = undefined;
        await meter?.[Symbol.asyncDispose]();
      },
    };
    return talk;
  };
}

/** Ends a session that a guard has stopped. */
const GUARD_STOP = new Error('a guard has ended the conversation');

const FINISHED: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content-filter',
};

const nativeNames = ({ tools }: TalkOptions): string[] =>
  tools.filter(({ name }) => isNative(name)).map(({ name }) => nameInClaude(name));

function lastAsk(messages: TalkOptions['state']['messages']): string {
  const last = messages.at(-1);
  return last?.role === 'user' && typeof last.content === 'string' ? last.content : '';
}

/** What holds for every session (design 3, Claude Code executor). */
const FIXED = {
  permissionMode: 'dontAsk',
  settingSources: [],
  strictMcpConfig: true,
  skills: [],
  verbatimPrompts: true,
  thinking: { type: 'disabled' },
  includePartialMessages: true,
  // Its own notes are not the model's to search.
  settings: { permissions: { deny: [`Read(./${CLAUDE_DIR}/**)`] } },
} as const;
