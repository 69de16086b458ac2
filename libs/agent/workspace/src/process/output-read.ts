import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** How long the pipes of an ended command may stay open: a process that escaped it may hold them. */
const CLOSE_MS = 2000;
/** Turns of the event loop in which Node reads what the pipes hold. */
const LAST_TURNS = 2;

/**
 * Waits until the pipes of an ended command are closed, for at most two seconds. What they hold is read in any case: where
 * the event loop has stalled, that time may be over before anything was read.
 */
export async function outputRead(closed: Promise<unknown>, clock: Pick<Clock, 'sleep'>): Promise<void> {
  const waited = new AbortController();
  const isLate = () => true;
  const late = clock.sleep(CLOSE_MS, waited.signal).then(isLate, isLate);
  try {
    if (!(await Promise.race([closed.then(() => false), late]))) return;
    for (let turn = 0; turn < LAST_TURNS; turn += 1) await nextTurn();
  } finally {
    waited.abort();
  }
}
