import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BlockedDocument } from '../../services/console/src/http/blocked.ts';
import type { FleetDocument } from '../../services/console/src/http/fleet.ts';
import type { SessionDocument } from '../../services/console/src/http/session.ts';
import type { SpendingDocument } from '../../services/console/src/http/spending.ts';
import type { StatusDocument } from '../../services/console/src/http/status.ts';
import type { TasksDocument } from '../../services/console/src/http/task-list.ts';
import type { TaskDocument } from '../../services/console/src/http/task-page.ts';
import { lasting, letGo, untilThere } from '../support/agent-work.ts';
import { type SignedIn, signIn, untilCaughtUp } from '../support/console.ts';
import { type Fleet, PROFILES, startFleet, until } from '../support/fleet.ts';
import { readAccount, STATUSES } from '../support/ledger-file.ts';
import {
  BLOCKED_OF_ROUND,
  type Root,
  resultsOf,
  SAVED_OF_ROUND,
  sendRoot,
  sendRound,
  spentBy,
} from '../support/ledger-traffic.ts';
import { call, dispatch, runbook } from '../support/rpc.ts';

const accountOf = (fleet: Fleet, profile: string) =>
  readAccount(join(fleet.dir, 'state', profile, 'ledger.db'));

/** The number of a profile's tasks by their states, as the list of the console counts them. */
async function listed(browser: SignedIn, profile: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const state of STATUSES) {
    const { total } = await browser.json<TasksDocument>(
      `/api/tasks?parts=true&profile=${profile}&state=${state}&limit=1`,
    );
    counts[state] = total;
  }
  return counts;
}

/** Asserts that the views of the console say what the ledgers and the results of the tasks that entered say. */
async function assertEqual(
  fleet: Fleet,
  roots: readonly Root[],
  rounds: number,
  spent: number,
): Promise<void> {
  const browser = await signIn(fleet);
  const ended = PROFILES.reduce(
    (sum, profile) => sum + Object.values(accountOf(fleet, profile).ended).reduce((a, b) => a + b, 0),
    0,
  );
  const hasAll = async () =>
    (await browser.json<TasksDocument>(`/api/tasks?parts=true&state=${STATUSES.join()}&limit=1`)).total ===
    ended;
  await until(hasAll, `${ended} ended tasks in the console`);
  await untilCaughtUp(browser);

  const { totals } = await browser.json<SpendingDocument>('/api/spending?by=profile');
  for (const profile of PROFILES) {
    const { own, input, output, ended: inLedger } = accountOf(fleet, profile);
    assert.deepEqual(await listed(browser, profile), inLedger, `${profile}: states`);
    const shown = totals.find(({ key }) => key === profile);
    assert.deepEqual(
      [shown?.tokens ?? 0, shown?.usage.input_tokens ?? 0, shown?.usage.output_tokens ?? 0],
      [own, input, output],
      `${profile}: tokens`,
    );
  }
  assert.equal(
    totals.reduce((sum, { tokens }) => sum + tokens, 0),
    spent,
    'tokens of the results',
  );
  const blocked = await browser.json<BlockedDocument>('/api/blocked');
  assert.deepEqual(
    [blocked.ended, blocked.blocked, blocked.tokens_saved],
    [roots.length, rounds * BLOCKED_OF_ROUND, rounds * SAVED_OF_ROUND],
    'the blocked share, of the tasks that entered',
  );
  const { total } = await browser.json<TasksDocument>(`/api/tasks?state=${STATUSES.join()}&limit=1`);
  assert.equal(total, roots.length, 'the tasks that entered');
  const { skipped, missed_at } = await browser.json<StatusDocument>('/api/status');
  assert.deepEqual([skipped, missed_at], [0, null]);
}

test('after mixed traffic with kill -9 of profiles, NATS and the console, its views equal the ledgers', async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'console']);
  const roots = await sendRound(fleet);
  const victim = { brief: lasting('victim'), routing: { target: 'trinity' } };
  const canceled = await sendRoot(fleet, 'switch', dispatch(victim));
  roots.push(canceled);
  await untilThere(fleet, '.scratch/victim-begun');
  for (const name of ['neo', 'console']) await fleet.kill(name);
  await fleet.up();
  roots.push(...(await sendRound(fleet)));
  for (const name of ['nats', 'switch']) await fleet.kill(name);
  await fleet.up();
  roots.push(...(await sendRound(fleet)));
  for (const name of ['console', 'trinity', 'nats']) await fleet.kill(name);
  await fleet.up();
  await call(fleet.target('switch'), 'CancelTask', { id: canceled.id });

  await resultsOf(fleet, roots);
  await until(
    () => PROFILES.every((profile) => accountOf(fleet, profile).unfinished === 0),
    'all tasks between peers to end',
  );
  const spent = await spentBy(fleet, roots);
  assert.ok(spent > 0);
  await assertEqual(fleet, roots, 3, spent);
  await fleet.kill('console');
  await fleet.up();
  await assertEqual(fleet, roots, 3, spent);
});

test('a profile, NATS or the console away: the others work on, and the console says what it does not know', async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'console']);
  const browser = await signIn(fleet);
  await browser.ask('POST', '/api/token', { token: fleet.operatorToken });
  const brief = runbook('a.txt', 'a', 'cat a.txt');
  const work = async (profile: string): Promise<string> => {
    const root = await sendRoot(fleet, profile, dispatch({ brief }));
    const [result] = await resultsOf(fleet, [root]);
    assert.ok(/^(done|partial)$/.test(String(result?.status)), JSON.stringify(result));
    return root.id;
  };
  const shows = (id: string, profile: string) =>
    until(
      async () => (await browser.ask('GET', `/api/tasks/${profile}/${id}`)).status === 200,
      `task ${id} in the console`,
    );
  const content = async (profile: string, id: string): Promise<unknown[]> => {
    const response = await browser.ask('GET', `/api/tasks/${profile}/${id}/content`);
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code];
  };

  await t.test('a profile', async () => {
    const id = await work('neo');
    await shows(id, 'neo');
    assert.deepEqual(await content('neo', id), [200, undefined]);
    await fleet.kill('neo');
    await shows(await work('trinity'), 'trinity');
    assert.deepEqual(await content('neo', id), [502, 'PEER_UNREACHABLE']);
    assert.equal(
      (await browser.json<TaskDocument>(`/api/tasks/neo/${id}`)).task.state,
      'done',
      'what is known stays',
    );
    const { peers } = await browser.json<FleetDocument>('/api/fleet');
    const row = peers.find(({ name }) => name === 'neo');
    const age = Date.now() - Date.parse(row?.announced_at ?? '');
    assert.ok(age >= 0 && Number(row?.ttl_s) > 0, 'how old the announce is, and how long it is valid');
    const status = await browser.json<StatusDocument>('/api/status');
    assert.deepEqual([status.bus.connected, status.skipped], [true, 0]);
    await fleet.kill('switch');
    assert.equal((await browser.ask('POST', '/api/route', { dispatch: dispatch({ brief }) })).status, 502);
    await fleet.up();
  });

  await t.test('NATS', async () => {
    await fleet.kill('nats');
    await until(
      async () => !(await browser.json<StatusDocument>('/api/status')).bus.connected,
      'the console to miss NATS',
    );
    const id = await work('neo');
    const status = await browser.json<StatusDocument>('/api/status');
    assert.deepEqual(
      [status.behind, typeof status.bus.reason],
      [null, 'string'],
      'it does not know its distance',
    );
    assert.ok(status.last_event_at, 'it knows how old its news is');
    assert.equal(
      (await browser.ask('GET', `/api/tasks/neo/${id}`)).status,
      404,
      'an unknown task is no guess',
    );
    assert.equal((await browser.ask('GET', '/api/spending')).status, 200, 'what is known stays');
    await fleet.up();
    await shows(id, 'neo');
  });

  await t.test('the console', async () => {
    const waiting = await sendRoot(fleet, 'neo', dispatch({ brief: lasting('long') }));
    await untilThere(fleet, '.scratch/long-begun');
    await fleet.kill('console');
    const id = await work('trinity');
    letGo(fleet, 'long');
    await resultsOf(fleet, [waiting]);
    await fleet.up();
    assert.equal(
      (await browser.json<SessionDocument>('/api/session')).caller,
      null,
      'the token is forgotten, the session is not',
    );
    await shows(id, 'trinity');
    await until(
      async () => (await browser.json<TaskDocument>(`/api/tasks/neo/${waiting.id}`)).task.ended_at !== null,
      'the end that came meanwhile',
    );
  });
});
