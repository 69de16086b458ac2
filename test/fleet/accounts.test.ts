import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { lasting, untilThere } from '../support/agent-work.ts';
import { type Fleet, PROFILES, startFleet, until } from '../support/fleet.ts';
import { readAccount, STATUSES } from '../support/ledger-file.ts';
import {
  BLOCKED_OF_ROUND,
  resultsOf,
  SAVED_OF_ROUND,
  sendRoot,
  sendRound,
  spentBy,
} from '../support/ledger-traffic.ts';
import { call, dispatch } from '../support/rpc.ts';

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

const ledgerOf = (fleet: Fleet, profile: string): string => join(fleet.dir, 'state', profile, 'ledger.db');

/** The sums of a profile's counters. */
async function countersOf(fleet: Fleet, profile: string) {
  const page = await fleet.metrics(profile);
  const samples = [...page.matchAll(/^(fleet_\w+_total)(\{[^}]*\})? (\d+)$/gm)];
  const total = (family: string, label = ''): number =>
    sum(
      samples
        .filter(([, name, labels = '']) => name === `fleet_${family}_total` && labels.includes(label))
        .map(([, , , value]) => Number(value)),
    );
  return {
    own: total('tokens_spent'),
    saved: total('tokens_saved'),
    refusals: total('peer_refusals'),
    accepted: total('task_admissions', 'decision="accepted"'),
    blocked: total('task_admissions', 'decision="blocked"'),
    ended: Object.fromEntries(STATUSES.map((status) => [status, total('tasks', `status="${status}"`)])),
  };
}

const all = <T>(of: (profile: string) => Promise<T>): Promise<T[]> => Promise.all(PROFILES.map(of));

test('after mixed traffic with kill -9, results, ledgers and counters have the same sums', async (t) => {
  const fleet = await startFleet(t, PROFILES);
  const roots = await sendRound(fleet);
  const victim = { brief: lasting('victim'), routing: { target: 'trinity' } };
  const canceled = await sendRoot(fleet, 'switch', dispatch(victim));
  await untilThere(fleet, '.scratch/victim-begun');
  await fleet.kill('neo');
  await fleet.up();
  roots.push(...(await sendRound(fleet)));
  await fleet.kill('switch');
  await fleet.up();
  roots.push(...(await sendRound(fleet)));
  await fleet.kill('trinity');
  await fleet.kill('switch');
  await fleet.up();
  await call(fleet.target('switch'), 'CancelTask', { id: canceled.id });
  roots.push(canceled);

  const results = await resultsOf(fleet, roots);
  await until(
    () => PROFILES.every((profile) => readAccount(ledgerOf(fleet, profile)).unfinished === 0),
    'all tasks between peers to end',
  );
  const spent = await spentBy(fleet, roots);
  const ledgers = PROFILES.map((profile) => readAccount(ledgerOf(fleet, profile)));
  const counters = await all((profile) => countersOf(fleet, profile));

  t.diagnostic(`${roots.length} root tasks, ${spent} tokens`);
  assert.ok(spent > 0);
  assert.ok(ledgers.every(({ settled }) => settled));
  assert.equal(sum(ledgers.map(({ own }) => own)), spent, 'tokens: ledgers and results');
  assert.deepEqual(
    counters.map(({ own }) => own),
    ledgers.map(({ own }) => own),
    'tokens: counters and ledgers',
  );
  assert.deepEqual(
    counters.map(({ ended }) => ended),
    ledgers.map(({ ended }) => ended),
    'tasks: counters and ledgers',
  );
  const refused = results.filter(({ status }) => status === 'blocked');
  assert.equal(refused.length, 3 * BLOCKED_OF_ROUND);
  assert.equal(sum(counters.map(({ blocked }) => blocked)), refused.length);
  assert.equal(sum(counters.map(({ accepted }) => accepted)), roots.length - refused.length);
  assert.equal(sum(counters.map(({ saved }) => saved)), 3 * SAVED_OF_ROUND);
  const blocked = sum(ledgers.map(({ ended }) => ended.blocked ?? 0));
  assert.equal(sum(counters.map(({ refusals }) => refusals)), blocked - refused.length);

  for (const profile of PROFILES) await fleet.kill(profile);
  await fleet.up();
  assert.deepEqual(await all((profile) => countersOf(fleet, profile)), counters, 'after a restart');
});
