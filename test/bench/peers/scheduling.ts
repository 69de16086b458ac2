import { setImmediate as turn } from 'node:timers/promises';
import { systemClock as clock, silentLog } from '@hermes-fleet/protocol/ports';
import { createScheduler, Lane, type Ticket } from '@hermes-fleet/tasks';

const CALLERS = 10;
const CLASSES = 4;
const PLACE: Disposable = { [Symbol.dispose]: () => undefined };

/**
 * The time that the scheduler takes for each of so many waiting tasks, from its arrival to its end, in µs. `until`: the
 * needs of the tasks may change, as after a refusal.
 */
export async function schedulingTime(count: number, until?: number): Promise<number> {
  const scheduler = createScheduler({ clock, log: silentLog, ageingMs: 60_000 });
  const lane = new Lane({ name: 'own', places: 4, depth: count });
  const since = clock.now();
  let left = count;
  const startedAt = performance.now();
  for (let i = 0; i < count; i += 1) {
    const caller = `caller-${i % CALLERS}`;
    const task = {
      taskId: `${i}`,
      contextId: `${i}`,
      caller,
      priority: 'normal' as const,
      receivedAt: since,
    };
    const ticket: Ticket = scheduler.add(lane, task, 'submitted', false);
    ticket.queue({
      needs: () => ({ key: `${i % CLASSES}`, ...(until !== undefined && { until }) }),
      look: () => ({ verdict: 'queued', roomAfterMs: () => 0, changesAt: since + 3_600_000 }),
      reserve: () => PLACE,
      to: 'placed',
      begin() {
        left -= 1;
        setImmediate(() => ticket.end());
      },
    });
  }
  while (left > 0) await turn();
  const took = performance.now() - startedAt;
  scheduler.stop();
  return (took / count) * 1_000;
}
