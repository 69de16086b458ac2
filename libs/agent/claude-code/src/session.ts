import { setImmediate as nextTurn } from 'node:timers/promises';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Workspace } from '@hermes-fleet/workspace';
import { confinedProcess } from './confined-process.ts';
import type { ClaudeSdk } from './sdk.ts';
import { readMessage, readStopHook, readToolHook, type TurnEnd } from './sdk-messages.ts';
import type { Hook, HookAnswer, QueryOptions } from './sdk-types.ts';
import type { SessionCalls } from './session-calls.ts';

/** Called during a session. `on…` handlers must not throw; a tool handler that throws ends the session. */
export interface SessionHandlers
  extends Pick<SessionCalls, 'before' | 'after' | 'afterFailure' | 'onCalls' | 'onResults'> {
  onText(delta: string): void;
  /** Called for each complete response of the model. */
  onStep(): void;
  /** Resolves when all earlier events are handled. */
  settled(): Promise<void>;
}

export interface SessionOptions {
  readonly sdk: ClaudeSdk;
  readonly workspace: Workspace;
  readonly prompt: string;
  readonly env: Readonly<Record<string, string>>;
  readonly query: Omit<QueryOptions, 'cwd' | 'env' | 'hooks' | 'spawnClaudeCodeProcess'>;
  readonly handlers: SessionHandlers;
  readonly clock: Clock;
}

export type ClaudeSession = ReturnType<typeof startSession>;

/** The deadline for the first message of the process. */
const START_MS = 60_000;
/** One day: a hook may wait for a person's answer, or for a review. */
const HOOK_TIMEOUT_S = 86_400;

/**
 * Starts a confined process of Claude Code with its first prompt. When the model says that it is done, the Stop hook
 * blocks until a follow-up prompt or until disposal. Disposal resolves when the process tree is gone.
 */
export function startSession(options: SessionOptions) {
  const { workspace, env, handlers } = options;
  let turn = newTurn();
  let held: PromiseWithResolvers<HookAnswer> | undefined;
  let isOver = false;
  const process = confinedProcess({ workspace, env });

  /** Claude Code ignores a hook that fails. The session must not continue without its guards, so it ends. */
  const hook = (run: Hook) => {
    const guarded: Hook = async (input) => {
      try {
        return await run(input);
      } catch (error) {
        kill(error);
        throw error;
      }
    };
    return [{ hooks: [guarded], timeout: HOOK_TIMEOUT_S, onFailure: 'block' as const }];
  };

  function kill(reason: unknown): void {
    isOver = true;
    turn.reject(reason);
    process.kill();
  }

  async function stop(input: unknown): Promise<HookAnswer> {
    const text = readStopHook(input);
    // Messages that arrived before the hook are read, but not yet handled.
    await nextTurn();
    await handlers.settled();
    held = Promise.withResolvers();
    turn.resolve({ kind: 'done', text });
    return held.promise;
  }

  const query = options.sdk.query({
    prompt: options.prompt,
    options: {
      ...options.query,
      cwd: workspace.dir,
      env,
      hooks: {
        PreToolUse: hook((input) => handlers.before(readToolHook(input).call)),
        PostToolUse: hook((input) => handlers.after(readToolHook(input))),
        PostToolUseFailure: hook((input) => handlers.afterFailure(readToolHook(input))),
        Stop: hook(stop),
      },
      spawnClaudeCodeProcess: (request) => process.spawn(request),
    },
  });

  const starting = options.clock.timer(
    () => kill(new FleetError('MODEL_FAILED', NOT_STARTED, { retryable: true })),
    START_MS,
  );

  function handle(raw: unknown): void {
    starting[Symbol.dispose]();
    const event = readMessage(raw);
    if (event === undefined) return;
    if (event.kind === 'text') handlers.onText(event.delta);
    if (event.kind === 'step') handlers.onStep();
    if (event.kind === 'calls') handlers.onCalls(event.calls);
    if (event.kind === 'results') handlers.onResults(event.results);
    if (event.kind !== 'ended') return;
    isOver = true;
    turn.resolve(event.end);
  }

  async function read(): Promise<void> {
    try {
      for await (const raw of query) handle(raw);
      turn.resolve({ kind: 'failed', detail: 'it ended without a result' });
    } catch (cause) {
      turn.resolve({ kind: 'failed', detail: 'its process ended', cause });
    }
    isOver = true;
  }
  const reading = read();

  return {
    /** The end of the current turn; rejects with the reason of `kill`. */
    turn: () => turn.promise,
    /** Sends a prompt to a model that says it is done. Returns false when its process has ended. */
    followUp(prompt: string): boolean {
      if (isOver || held === undefined) return false;
      turn = newTurn();
      held.resolve({ decision: 'block', reason: prompt });
      held = undefined;
      return true;
    },
    /** Kills the process tree at once. */
    kill,
    stderr: process.stderr,
    failure: process.failure,
    async [Symbol.asyncDispose](): Promise<void> {
      isOver = true;
      starting[Symbol.dispose]();
      process.kill();
      held?.resolve({});
      query.close();
      await process.gone();
      await reading;
    },
  };
}

const NOT_STARTED = `Claude Code did not start within ${START_MS / 1000} s`;

function newTurn(): PromiseWithResolvers<TurnEnd> {
  const turn = Promise.withResolvers<TurnEnd>();
  turn.promise.catch(() => {});
  return turn;
}
