import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, FleetError } from '@hermes-fleet/protocol';
import type { Workspace } from '@hermes-fleet/workspace';
import { confinedProcess } from './confined-process.ts';
import {
  type CallResult,
  type ModelCall,
  readMessage,
  readStopHook,
  readToolHook,
  type ToolHookInput,
} from './messages.ts';
import type { Hook, HookAnswer, QueryOptions } from './query-options.ts';
import type { ClaudeSdk } from './sdk.ts';

/** How a turn of the model ended. */
export type TurnEnd =
  /** It says that it is done, and waits for what is said to that. */
  | { readonly kind: 'done'; readonly text: string }
  | { readonly kind: 'step_limit' }
  /** A hook has ended it. */
  | { readonly kind: 'halted' }
  /** There is no such session to go on with. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'failed'; readonly detail: string; readonly cause?: unknown };

/** What a session is watched and steered by. None of it may throw. */
export interface SessionHooks {
  onText(delta: string): void;
  /** An answer of the model is whole. */
  onStep(): void;
  onCalls(calls: readonly ModelCall[]): void;
  onResults(results: readonly CallResult[]): void;
  beforeTool(call: ModelCall): Promise<HookAnswer>;
  afterTool(hook: ToolHookInput): Promise<HookAnswer>;
  afterFailure(hook: ToolHookInput): Promise<HookAnswer>;
  /** Resolves when all that was seen so far is dealt with. */
  settled(): Promise<void>;
}

export interface SessionOptions {
  readonly sdk: ClaudeSdk;
  readonly workspace: Workspace;
  readonly prompt: string;
  readonly env: Readonly<Record<string, string>>;
  readonly query: Omit<QueryOptions, 'cwd' | 'env' | 'hooks' | 'spawnClaudeCodeProcess'>;
  readonly hooks: SessionHooks;
  readonly clock: Clock;
}

export interface ClaudeSession extends AsyncDisposable {
  /** How the turn under way ends; rejects with what `end` was given. */
  turn(): Promise<TurnEnd>;
  /** Answers a model that says that it is done: it has to go on. False when its process is not there any more. */
  goOn(reason: string): boolean;
  /** Kills the process with all that it started, at once. */
  end(reason: unknown): void;
  stderr(): string;
}

/** How long it may take until the process says a first word. */
const START_MS = 60_000;
/** A day: a hook waits for a person's answer, or for a review. */
const HOOK_TIMEOUT_S = 86_400;

/**
 * One process of Claude Code, confined, from its first prompt on. When the model says that it is done, the Stop hook holds
 * it until it is told to go on or the session is disposed of; then nothing of it is left.
 */
export function startSession(o: SessionOptions): ClaudeSession {
  let turn = newTurn();
  let held: PromiseWithResolvers<HookAnswer> | undefined;
  let over = false;
  const process = confinedProcess({ workspace: o.workspace, env: o.env });

  /** Claude Code would go on without a hook that fails: without its guards the session must not. */
  const hook = (run: Hook) => {
    const guarded: Hook = async (input) => {
      try {
        return await run(input);
      } catch (error) {
        end(error);
        throw error;
      }
    };
    return [{ hooks: [guarded], timeout: HOOK_TIMEOUT_S, onFailure: 'block' as const }];
  };

  function end(reason: unknown): void {
    over = true;
    turn.reject(reason);
    process.kill();
  }

  async function stop(input: unknown): Promise<HookAnswer> {
    const text = readStopHook(input);
    // What was said before it has been read, but not yet been seen.
    await nextTurn();
    await o.hooks.settled();
    held = Promise.withResolvers();
    turn.resolve({ kind: 'done', text });
    return held.promise;
  }

  const query = o.sdk.query({
    prompt: o.prompt,
    options: {
      ...o.query,
      cwd: o.workspace.dir,
      env: o.env,
      hooks: {
        PreToolUse: hook((input) => o.hooks.beforeTool(readToolHook(input).call)),
        PostToolUse: hook((input) => o.hooks.afterTool(readToolHook(input))),
        PostToolUseFailure: hook((input) => o.hooks.afterFailure(readToolHook(input))),
        Stop: hook(stop),
      },
      spawnClaudeCodeProcess: (request) => process.spawn(request),
    },
  });

  const starting = o.clock.timer(
    () => end(new FleetError('MODEL_FAILED', NOT_STARTED, { retryable: true })),
    START_MS,
  );

  function see(raw: unknown): void {
    starting[Symbol.dispose]();
    const seen = readMessage(raw);
    if (seen === undefined) return;
    if (seen.kind === 'text') o.hooks.onText(seen.delta);
    if (seen.kind === 'step') o.hooks.onStep();
    if (seen.kind === 'calls') o.hooks.onCalls(seen.calls);
    if (seen.kind === 'results') o.hooks.onResults(seen.results);
    if (seen.kind !== 'over') return;
    over = true;
    turn.resolve(seen.how === 'failed' ? { kind: 'failed', detail: seen.detail } : { kind: seen.how });
  }

  async function read(): Promise<void> {
    try {
      for await (const raw of query) see(raw);
      turn.resolve({ kind: 'failed', detail: 'it ended without a word' });
    } catch (cause) {
      turn.resolve({ kind: 'failed', detail: 'its process ended', cause });
    }
    over = true;
  }
  const reading = read();

  return {
    turn: () => turn.promise,
    goOn(reason) {
      if (over || held === undefined) return false;
      turn = newTurn();
      held.resolve({ decision: 'block', reason });
      held = undefined;
      return true;
    },
    end,
    stderr: process.stderr,
    async [Symbol.asyncDispose]() {
      over = true;
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
