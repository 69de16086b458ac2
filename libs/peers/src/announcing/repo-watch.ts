import type { Clock, Log } from '@hermes-fleet/protocol';

const EVERY_MS = 3_000;
/** Of the time, a measurement may take at most one part in so many: a huge repository is looked at less often. */
const SPARED = 20;
/** The longest pause; a machine that slept through a measurement did not take that long for it. */
const LONGEST_MS = 300_000;

export interface RepoState {
  readonly branch: string;
  readonly clean: boolean;
}

/** The base repository as it was measured last. */
export interface RepoWatch {
  last(): RepoState;
  /** Measures now, and tells when it is not as it was. */
  measure(): Promise<RepoState>;
  /** Measures now, for whoever is about to tell of it anyway. */
  measureQuietly(): Promise<RepoState>;
  /** Measures every few seconds from now on, so that a change is noticed without a task (design 2, When). */
  start(): void;
  stop(): void;
}

export function createRepoWatch(options: {
  readonly measure: () => Promise<RepoState>;
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Log;
}): RepoWatch {
  let state: RepoState = { branch: '', clean: true };
  let timer: Disposable | undefined;
  let watching = false;
  let failing = false;

  async function measureQuietly(): Promise<RepoState> {
    const { branch, clean } = await options.measure();
    state = { branch, clean };
    return state;
  }

  async function measure(): Promise<RepoState> {
    const before = state;
    const { branch, clean } = await measureQuietly();
    if (branch !== before.branch || clean !== before.clean) options.onChange();
    return state;
  }

  async function look(): Promise<void> {
    const startedAt = options.clock.now();
    try {
      await measure();
      failing = false;
    } catch (err) {
      if (!failing) options.log.warn({ err }, 'the base repository cannot be measured: trying again');
      failing = true;
    }
    arm((options.clock.now() - startedAt) * SPARED);
  }

  function arm(sparedMs: number): void {
    if (watching)
      timer = options.clock.timer(() => void look(), Math.min(Math.max(EVERY_MS, sparedMs), LONGEST_MS));
  }

  return {
    last: () => state,
    measure,
    measureQuietly,
    start() {
      if (watching) return;
      watching = true;
      arm(0);
    },
    stop() {
      watching = false;
      timer?.[Symbol.dispose]();
    },
  };
}
