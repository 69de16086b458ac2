import { isDeepStrictEqual } from 'node:util';
import type { Clock, Log, RepoState } from '@hermes-fleet/protocol/ports';

const EVERY_MS = 3_000;
/** The pause is this many times as long as the last measurement, so that a huge repository is measured less often. */
const PAUSE_FACTOR = 20;
/** Limits the pause after a measurement during which the machine was suspended. */
const LONGEST_MS = 300_000;

/** The parts of a state that others hear of. */
const announced = (state: RepoState): readonly unknown[] => [
  state.branch,
  state.clean,
  state.baseClean,
  state.problem,
  !state.clean && state.inUse,
];

/** Measures the state of the base repository, and reports changes. */
export function createRepoWatch(options: {
  readonly measure: () => Promise<RepoState>;
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Log;
}) {
  let state: RepoState = { branch: '', clean: true };
  let timer: Disposable | undefined;
  let watching = false;
  let failing = false;

  /** Takes over a measured state. */
  function keep(measured: RepoState): RepoState {
    if (measured.problem !== state.problem) {
      if (measured.problem === undefined) options.log.info({}, 'the repositories can be used again');
      else options.log.error({ problem: measured.problem }, 'the profile cannot work with its repositories');
    }
    state = measured;
    return state;
  }

  /** Measures now without reporting a change, for a caller that announces the state itself. */
  const measureQuietly = async (): Promise<RepoState> => keep(await options.measure());

  /** Measures now, and reports a change. */
  async function measure(): Promise<RepoState> {
    const before = state;
    const now = keep(await options.measure());
    if (!isDeepStrictEqual(announced(now), announced(before))) options.onChange();
    return state;
  }

  async function tryMeasure(): Promise<void> {
    try {
      await measure();
      failing = false;
    } catch (err) {
      if (!failing) options.log.warn({ err }, 'the base repository cannot be measured: trying again');
      failing = true;
    }
  }

  async function poll(): Promise<void> {
    const startedAt = options.clock.now();
    await tryMeasure();
    schedule((options.clock.now() - startedAt) * PAUSE_FACTOR);
  }

  function schedule(pauseMs: number): void {
    if (watching)
      timer = options.clock.timer(() => void poll(), Math.min(Math.max(EVERY_MS, pauseMs), LONGEST_MS));
  }

  return {
    /** The last measured state. */
    last: (): RepoState => state,
    measure,
    measureQuietly,
    /**
     * Measures a dirty tree again, because no task is at work there any more. Until that is done it counts as clean: an announce
     * of changes that the task has committed since would have others refused. Returns true if the tree was dirty.
     */
    leave(): boolean {
      if (!watching || state.clean) return false;
      const { uncommitted: _changes, inUse: _inUse, ...rest } = state;
      state = { ...rest, clean: true };
      void tryMeasure();
      return true;
    },
    /** Measures every few seconds, so that a change is noticed without a task (docs/handshake.md#announcing). */
    start(): void {
      if (watching) return;
      watching = true;
      schedule(0);
    },
    stop(): void {
      watching = false;
      timer?.[Symbol.dispose]();
    },
  };
}
