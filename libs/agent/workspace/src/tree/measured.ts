import type { Clock, RepoState } from '@hermes-fleet/protocol/ports';
import { capacityOf } from '../process/system-error.ts';

const STATE_MS = 2000;

/** The state of repositories with which no task can work, for the reason. */
export const unusableState = (problem: string): RepoState => ({ branch: '', clean: true, problem });

/**
 * Caches a measurement for `STATE_MS`, unless it found changes, which somebody may commit at once. One that fails is a problem of the
 * repositories, unless there is no room for git.
 */
export function measured(
  clock: Clock,
  measure: () => Promise<RepoState>,
): { read(): Promise<RepoState>; forget(): void } {
  let last: { at: number; value: Promise<RepoState> } | undefined;
  const forget = (): void => {
    last = undefined;
  };
  return {
    read() {
      const now = clock.now();
      if (last === undefined || now - last.at >= STATE_MS) {
        const value = measure().then(
          (state) => {
            if (!state.clean) forget();
            return state;
          },
          (error) => {
            if (capacityOf(error) === undefined)
              return unusableState(error instanceof Error ? error.message : String(error));
            forget();
            throw error;
          },
        );
        last = { at: now, value };
      }
      return last.value;
    },
    forget,
  };
}
