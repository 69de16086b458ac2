import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROFILES, readEvents, startFleet } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { call, dispatch, message, runbook } from '../support/rpc.ts';

const OUTAGE_MS = 30_000;
const SENDERS = 4;

test('NATS killed for 30 s under load: no task stops, no event is lost, none out of order, none twice by id', async (t) => {
  const fleet = await startFleet(t, PROFILES);
  const operator = fleet.target('switch');
  await call(
    operator,
    'SendMessage',
    message(dispatch({ brief: runbook('a.txt', 'a', 'cat a.txt'), routing: { target: 'auto' } })),
  );

  let accepted = 0;
  const load = async (stopAt: number): Promise<void> => {
    while (Date.now() < stopAt) {
      const sent = dispatch({
        brief: 'x',
        requirements: { required_mcp: ['nope'] },
        routing: { target: 'auto' },
      });
      const { status, body } = await call(operator, 'SendMessage', message(sent));
      assert.equal(status, 200);
      assert.equal(
        body.result.task.status.state,
        'TASK_STATE_REJECTED',
        'a broker that is away must not stop work',
      );
      accepted += 1;
    }
  };
  await fleet.kill('nats');
  await Promise.all(Array.from({ length: SENDERS }, () => load(Date.now() + OUTAGE_MS)));
  const done = await call(
    operator,
    'SendMessage',
    message(
      dispatch({ taskId: 'during', brief: runbook('b.txt', 'b', 'cat b.txt'), routing: { target: 'auto' } }),
    ),
  );
  assert.equal(done.body.result.task.status.state, 'TASK_STATE_COMPLETED');
  const ready = await fetch(`${operator.url}/ready`);
  assert.equal(ready.status, 200, 'a broker that is away degrades, it does not take down');
  assert.match(await ready.text(), /"nats":\{"state":"degraded"/);
  assert.match(await fleet.metrics('switch'), /^fleet_dependency_up\{dependency="nats"\} 0$/m);
  await fleet.up();

  const expected = PROFILES.flatMap((profile) => {
    const { id, events } = readLedgerFile(join(fleet.dir, 'state', profile, 'ledger.db'));
    return events.map(({ seq }) => `${profile}:${id}:${seq}`);
  });
  assert.ok(expected.length > 2 * accepted && accepted > 0, `${accepted} tasks, ${expected.length} events`);
  const seen = new Set<string>();
  const unique: string[] = [];
  const events = await readEvents(fleet, (all) => {
    const id = all.at(-1)?.id;
    if (id !== undefined && !seen.has(id)) unique.push(id);
    if (id !== undefined) seen.add(id);
    return seen.size >= expected.length;
  });
  for (const profile of PROFILES) {
    const own = (ids: readonly string[]): string[] => ids.filter((id) => id.startsWith(`${profile}:`));
    assert.deepEqual(own(unique), own(expected), `${profile}: lost, added or out of order`);
  }
  t.diagnostic(
    `${accepted} tasks during the outage, ${expected.length} events, ${events.length - unique.length} copies`,
  );
});
