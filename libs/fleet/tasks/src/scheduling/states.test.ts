import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { NOW } from '@hermes-fleet/peers/testing';
import type { SchedulingState } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { Lane } from './lane.ts';
import { createScheduler, type Ticket } from './scheduler.ts';
import { TRANSITIONS } from './states.ts';

const PLACE: Disposable = { [Symbol.dispose]: () => undefined };

const DOCS = new URL('../../../../../docs/handshake.md', import.meta.url);

it('the transitions are those of the table in docs/handshake.md', () => {
  const [, section = ''] = readFileSync(DOCS, 'utf8').split('## Scheduling\n');
  const [, table = ''] = section.split('| from | to | when |\n|---|---|---|\n');
  const written: Record<string, string[]> = { ended: [] };
  for (const row of table.split('\n\n')[0]?.split('\n') ?? []) {
    const [, from = '', to = ''] = row.split('|').map((cell) => cell.trim());
    for (const each of from.split(', ')) if (each !== '(new)') written[each] = [...(written[each] ?? []), to];
  }
  const sorted = (transitions: Readonly<Record<string, readonly string[]>>) =>
    Object.fromEntries(Object.entries(transitions).map(([from, to]) => [from, [...new Set(to)].sort()]));
  assert.deepEqual(sorted(written), sorted(TRANSITIONS));
});

it('the scheduler refuses every transition that is not in the table', () => {
  const moves: Record<
    Exclude<SchedulingState, 'submitted' | 'ended' | 'waiting'>,
    (ticket: Ticket) => void
  > = {
    queued: (ticket) =>
      ticket.queue({
        needs: () => ({ key: 'x' }),
        reserve: () => undefined,
        to: 'placed',
        begin: () => undefined,
      }),
    placed: (ticket) => ticket.restore(PLACE),
    running: (ticket) => ticket.resume(PLACE),
    asking: (ticket) => ticket.ask(),
  };
  const reach: Record<string, (ticket: Ticket) => void> = {
    submitted: () => undefined,
    queued: moves.queued,
    placed: moves.placed,
    running: (ticket) => {
      moves.placed(ticket);
      ticket.run();
    },
    asking: (ticket) => {
      moves.placed(ticket);
      ticket.run();
      ticket.ask();
    },
    ended: (ticket) => ticket.end(),
  };
  const clock = manualClock(NOW);
  const scheduler = createScheduler({ clock, log: silentLog, ageingMs: 1_000 });
  const lane = new Lane({ name: 'relay', places: 99, depth: 99 });
  for (const [from, to] of Object.entries(reach))
    for (const [target, move] of Object.entries(moves)) {
      const taskId = `${from} ${target}`;
      const task = {
        taskId,
        contextId: taskId,
        caller: 'operator',
        priority: 'normal' as const,
        receivedAt: NOW,
      };
      const ticket = scheduler.add(lane, task, 'submitted', false);
      to(ticket);
      assert.equal(ticket.state, from);
      // A place is restored by way of the line.
      const via = target === 'placed' ? 'queued' : target;
      const isAllowed = TRANSITIONS[from as SchedulingState].includes(via as SchedulingState);
      if (isAllowed) move(ticket);
      else assert.throws(() => move(ticket), /cannot go from/, taskId);
    }
});
