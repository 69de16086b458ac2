import type { ControlCode, ControlResponse } from '@hermes-fleet/protocol/control';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { DECIDE } from './access.ts';
import type { ControlStore, Refusals } from './control-store.ts';
import type { Attempt } from './decision-service.ts';

/** Attempts of one caller in a minute that have a record each although they are not authorized. */
export const RECORDED_PER_MINUTE = 20;
const MINUTE_MS = 60_000;

interface Minute {
  /** Ms since the epoch. */
  readonly from: number;
  recorded: number;
  readonly counted: Map<ControlCode, number>;
}

/**
 * Bounds what attempts without authorization add to the audit: beyond `RECORDED_PER_MINUTE` of a caller, they are counted, and
 * one record has their number at the end of the minute.
 */
export function createRefusalBound(options: {
  store: Pick<ControlStore, 'refusals'>;
  clock: Pick<Clock, 'now' | 'timer'>;
  log: Log;
}) {
  const { store, clock, log } = options;
  /** By caller; callers are configured, so they are few. */
  const minutes = new Map<string, Minute>();
  let timer: Disposable | undefined;
  let recording: Promise<void> | undefined;
  let isClosed = false;

  const refusalsOf = (caller: string, { from, counted }: Minute): Refusals => ({
    caller,
    from,
    to: clock.now(),
    counts: Object.fromEntries(counted),
  });

  /** Records a minute. If that fails, its counts are added to those of the next one. */
  const record = async (caller: string, minute: Minute): Promise<void> => {
    try {
      await store.refusals(refusalsOf(caller, minute));
    } catch (err) {
      log.error({ err, caller }, 'refused attempts could not be audited; that is tried again');
      const now = minutes.get(caller);
      const merged: Minute = now ?? { from: minute.from, recorded: 0, counted: new Map() };
      for (const [code, count] of minute.counted)
        merged.counted.set(code, (merged.counted.get(code) ?? 0) + count);
      minutes.set(caller, { ...merged, from: minute.from });
      wake();
    }
  };

  const recordAll = async (): Promise<void> => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    const ended = [...minutes];
    minutes.clear();
    await Promise.all(ended.map(([caller, minute]) => minute.counted.size > 0 && record(caller, minute)));
  };

  const wake = (): void => {
    if (!isClosed)
      timer ??= clock.timer(() => {
        recording = recordAll();
      }, MINUTE_MS);
  };

  return {
    /** True if the attempt is only counted. */
    counts: ({ caller }: Attempt, { errors }: ControlResponse): boolean => {
      const [first] = errors;
      if (first === undefined) return false;
      if (first.code !== 'forbidden' && caller.scopes.has(DECIDE)) return false;
      const minute = minutes.get(caller.name) ?? { from: clock.now(), recorded: 0, counted: new Map() };
      minutes.set(caller.name, minute);
      wake();
      if (minute.recorded < RECORDED_PER_MINUTE) {
        minute.recorded += 1;
        return false;
      }
      minute.counted.set(first.code, (minute.counted.get(first.code) ?? 0) + 1);
      return true;
    },
    /** Records the counts of the current minute. */
    close: async (): Promise<void> => {
      isClosed = true;
      // What fails to be recorded is counted again, and recorded by the second run.
      await recording;
      await recordAll();
    },
  };
}
