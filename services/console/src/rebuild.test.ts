import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Answer, CONSOLE } from '@hermes-fleet/protocol/api';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { LOGIN_SECRET, startTestConsole, type TestConsole } from '../testing/console.ts';
import { controlEvent, eventMaker, headEvent, publish, STARTED_AT } from '../testing/events.ts';
import type { StatusDocument } from './http/status.ts';
import type { TasksDocument } from './http/task-list.ts';
import type { TraderDocument } from './http/trader.ts';

const rebuild = async (fleet: TestConsole): Promise<{ status: number; reaches_back_to: string | null }> => {
  const headers = { authorization: `Bearer ${LOGIN_SECRET}` };
  const response = await fetch(`${fleet.url}/api/rebuild`, { method: 'POST', headers });
  return { status: response.status, ...((await response.json()) as { reaches_back_to: string | null }) };
};

test(
  'a rebuild gives the same views from the streams, says how far back they reach, and keeps the sessions',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const browser = await fleet.signIn();
    await fleet.until<StatusDocument>(browser, '/api/status', ({ bus }) => bus.connected);
    assert.equal((await rebuild(fleet)).reaches_back_to, null);
    const neo = eventMaker('neo');
    await publish(fleet.nats.url, [
      neo('submitted', { id: 'a' }, { budget_tokens: 5 }),
      neo('done', { id: 'a' }, { tokens_spent: 3 }),
      controlEvent(1, { status: 'applied', to_strategy_id: 's', risk_mode: 'normal' }),
    ]);
    const ended = ({ total }: TasksDocument): boolean => total === 1;
    const before = await fleet.until(browser, '/api/tasks?state=done', ended);
    const range = `since=${new Date(STARTED_AT).toISOString()}&until=${new Date(STARTED_AT + 60_000).toISOString()}`;
    const decided = ({ decisions }: TraderDocument): boolean => decisions.length === 1;
    const trader = await fleet.until(browser, `/api/trader?${range}`, decided);
    assert.deepEqual(
      trader.concerns.map(({ run_state, strategy_id }) => [run_state, strategy_id]),
      [['paused', 's']],
    );

    const [first, second] = await Promise.all([rebuild(fleet), rebuild(fleet)]);
    const start = new Date(STARTED_AT + 1_000).toISOString();
    assert.deepEqual([first, second.status], [{ ...first, status: 202, reaches_back_to: start }, 202]);
    assert.deepEqual(await fleet.until(browser, '/api/tasks?state=done', ended), before);
    assert.deepEqual(await fleet.until(browser, `/api/trader?${range}`, decided), trader);
    assert.ok((await browser.json<StatusDocument>('/api/status')).rebuilt_at);
  },
);

test('while the bus is away a rebuild is refused, and the views stay', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const browser = await fleet.signIn();
  await publish(fleet.nats.url, [eventMaker('neo')('submitted', { id: 'a' })]);
  await fleet.until<TasksDocument>(browser, '/api/tasks', ({ total }) => total === 1);
  await fleet.nats.kill();
  await fleet.until<StatusDocument>(browser, '/api/status', ({ bus }) => !bus.connected);
  assert.equal((await rebuild(fleet)).status, 503);
  assert.equal((await browser.json<TasksDocument>('/api/tasks')).total, 1);
});

test(
  'the highest head of an audit stays over rebuilds, and one that goes back or changes is not sound',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const browser = await fleet.signIn();
    const audit = async (isWanted: (audit: NonNullable<TraderDocument['audit']>) => boolean) => {
      const { audit: found } = await fleet.until<TraderDocument>(
        browser,
        '/api/trader',
        (document) => document.audit !== null && isWanted(document.audit),
      );
      return found && [found.seq, found.highest, found.sound, found.reason];
    };
    await publish(fleet.nats.url, [headEvent(5, 'a', 1)]);
    assert.deepEqual(await audit(({ seq }) => seq === 5), [5, 5, true, null]);
    // FLEET_AUDIT keeps the last head alone, so that a rebuild could not know of the fifth record.
    await publish(fleet.nats.url, [headEvent(3, 'b', 2)]);
    const back = [3, 5, false, 'the head went back from 5 to 3'];
    assert.deepEqual(await audit(({ seq }) => seq === 3), back);
    await rebuild(fleet);
    assert.deepEqual(await audit(({ seq }) => seq === 3), back);
    const heads = async (secret: string) =>
      fetch(`${fleet.url}/api/audit/heads`, { headers: { authorization: `Bearer ${secret}` } });
    assert.equal((await heads('another')).status, 401);
    const { heads: seen } = (await (await heads(LOGIN_SECRET)).json()) as Answer<typeof CONSOLE.auditHeads>;
    assert.deepEqual(
      seen.map(({ service, seq, hash }) => [service, seq, hash]),
      [['trader', 5, 'a'.repeat(64)]],
    );
  },
);

test(
  'what is older than the retention is removed, and so is what exceeds the maximum',
  deadline,
  async (t) => {
    const clock = manualClock(STARTED_AT);
    const config = { retention: { days: 2, tasks: 100, events: 1_000 } };
    const fleet = await startTestConsole(t, { clock, config });
    const browser = await fleet.signIn();
    const neo = eventMaker('neo');
    const tasks = Array.from({ length: 150 }, (_, at) => [
      neo('submitted', { id: `t${at}` }),
      neo('done', { id: `t${at}` }),
    ]);
    await publish(fleet.nats.url, tasks.flat());
    await fleet.until<TasksDocument>(browser, '/api/tasks?state=done', ({ total }) => total === 150);
    /** True for a list of this length; until then the next round of the retention comes. */
    const shrunkTo =
      (wanted: number) =>
      ({ total }: TasksDocument): boolean => {
        if (total > wanted) clock.advance(10 * 60_000);
        return total === wanted;
      };
    const newest = await fleet.until(browser, '/api/tasks', shrunkTo(100));
    assert.equal(newest.tasks[0]?.id, 't149');
    clock.advance(3 * 24 * 3_600_000);
    const again = await fleet.signIn();
    await fleet.until(again, '/api/tasks', shrunkTo(0));
    assert.equal((await again.json<StatusDocument>('/api/status')).reaches_back_to, null);
    // What no view shows must not stay either.
    using db = new DatabaseSync(join(fleet.stateDir, 'console.db'), { readOnly: true });
    while (db.prepare('SELECT 1 FROM facets').get()) await new Promise((resolve) => setImmediate(resolve));
  },
);

test(
  'the concerns are those of the newest head, as later decisions have changed them',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const browser = await fleet.signIn();
    const concern = (id: string, strategy: string | null, state: string) => ({
      concern_id: id,
      strategy_id: strategy,
      run_state: state,
      risk_mode: 'normal',
    });
    const concerns = async (wanted: string) => {
      const isThere = (document: TraderDocument): boolean => JSON.stringify(states(document)) === wanted;
      return states(await fleet.until<TraderDocument>(browser, '/api/trader', isThere));
    };
    const states = (document: TraderDocument) =>
      document.concerns.map(({ concern_id, run_state, strategy_id }) => [concern_id, run_state, strategy_id]);

    const first = [concern('a:m', 's', 'running'), concern('b:m', null, 'paused')];
    await publish(fleet.nats.url, [headEvent(5, 'a', 10, { concerns: first })]);
    await concerns('[["a:m","running","s"],["b:m","paused",null]]');
    const switched = { action: 'switch', to_strategy_id: 'other', risk_mode: 'normal', run_state: 'paused' };
    await publish(fleet.nats.url, [
      controlEvent(4, { ...switched, run_state: 'running' }),
      controlEvent(11, switched),
    ]);
    await concerns('[["a:m","paused","other"],["b:m","paused",null]]');
    await rebuild(fleet);
    await concerns('[["a:m","paused","other"],["b:m","paused",null]]');
    await publish(fleet.nats.url, [headEvent(7, 'b', 12, { concerns: [concern('b:m', 's', 'running')] })]);
    await concerns('[["b:m","running","s"]]');
    await rebuild(fleet);
    await fleet.until<TraderDocument>(browser, '/api/trader', ({ audit }) => audit?.seq === 7);
    await fleet.until<StatusDocument>(browser, '/api/status', ({ behind }) => behind === 0);
    await concerns('[["b:m","running","s"]]');
    // A head may tell no concerns.
    await publish(fleet.nats.url, [headEvent(8, 'c', 13), controlEvent(14, { to_strategy_id: 's' })]);
    await concerns('[["a:m","paused","s"],["b:m","running","s"]]');
  },
);
