import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { NOW } from '@hermes-fleet/peers/testing';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { Lane } from './lane.ts';
import { createScheduler } from './scheduler.ts';

test('needs that may change are asked for in at most a tenth of the time, and soon after each change', async () => {
  const clock = manualClock(NOW);
  const scheduler = createScheduler({ clock, log: silentLog, ageingMs: 60_000 });
  const lane = new Lane({ name: 'relay', places: 1, depth: 100 });
  let asked = 0;
  let verdicts = 0;
  let canGo = false;
  for (let id = 0; id < 20; id += 1) {
    const task = { taskId: `${id}`, contextId: `${id}`, caller: 'operator', priority: 'normal' as const };
    const ticket = scheduler.add(lane, { ...task, receivedAt: NOW }, 'submitted', false);
    ticket.queue({
      needs() {
        asked += 1;
        clock.advance(1);
        return { key: canGo ? 'free' : 'refused', until: Number.POSITIVE_INFINITY };
      },
      look: () => ({
        verdict: 'waiting',
        roomAfterMs: () => Number.POSITIVE_INFINITY,
        changesAt: Number.POSITIVE_INFINITY,
      }),
      reserve: () => undefined,
      to: 'placed',
      begin: () => undefined,
      onVerdict: () => {
        verdicts += 1;
      },
    });
  }
  await settle(clock);
  assert.equal(asked, 40, 'when each is queued, and in the first round');
  assert.equal(verdicts, 20);
  canGo = true;
  for (let change = 0; change < 4; change += 1) {
    scheduler.changed();
    await settle(clock);
  }
  assert.equal(asked, 40, 'four changes are too early for another renewal');
  clock.advance(20 * 9);
  await settle(clock);
  assert.equal(asked, 60, 'the renewal that the changes asked for');
  assert.equal(verdicts, 40);
  scheduler.stop();
});

/** Lets a round run to its end, and ends the pause after it. */
async function settle(clock: ReturnType<typeof manualClock>): Promise<void> {
  for (let i = 0; i < 5; i += 1) await turn();
  clock.advance(20);
  for (let i = 0; i < 5; i += 1) await turn();
}
