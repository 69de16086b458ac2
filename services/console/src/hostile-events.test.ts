import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setUpStreams } from '@hermes-fleet/events';
import { openConnection } from '@hermes-fleet/events/testing';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { deadline } from '@hermes-fleet/protocol/testing';
import { startTestConsole } from '../testing/console.ts';
import { eventMaker, publish, type SentEvent, STARTED_AT } from '../testing/events.ts';
import type { FleetDocument } from './http/fleet.ts';
import type { SpendingDocument } from './http/spending.ts';
import type { StatusDocument } from './http/status.ts';
import type { TasksDocument } from './http/task-list.ts';
import type { TaskDocument } from './http/task-page.ts';

const MARKUP = '<script>alert("x")</script>\u202e';

const announce = (profile: string, data: Record<string, unknown>): SentEvent => ({
  subject: `fleet.announce.${profile}`,
  event: {
    specversion: '1.0',
    id: `${profile}:instance:1`,
    source: `/profiles/${profile}`,
    type: 'dev.hermes-fleet.announce.session.v1',
    subject: profile,
    time: new Date(STARTED_AT).toISOString(),
    datacontenttype: 'application/json',
    data,
  },
});

test('events that are no events are skipped and counted, and none stops the others', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const neo = eventMaker('neo');
  const of = (make: SentEvent, event: object): SentEvent => ({ ...make, event: { ...make.event, ...event } });
  const nc = await openConnection({ servers: [fleet.nats.url], name: 'x' }, t.signal);
  const js = nc.jetstream();
  for (const text of ['', 'null', '[]', '{"specversion":"1.0"}', '{"a":'.repeat(5_000), '\u0000'])
    await js.publish('fleet.task.neo.done', text);
  await nc.close();
  await publish(fleet.nats.url, [
    of(neo('done', { id: 'a' }), { id: 'switch:store-1:1' }),
    of(neo('done', { id: 'a' }), { id: 'neo:store-1:99999999999999999999' }),
    of(neo('done', { id: 'a' }), { type: 'dev.hermes-fleet.task.submitted.v1' }),
    of(neo('done', { id: 'a' }), { subject: 'a'.repeat(5_000) }),
    { ...neo('done', { id: 'a' }), subject: 'fleet.task.neo.sabotage' },
    neo('submitted', { id: 'good' }),
  ]);
  const browser = await fleet.signIn();
  await fleet.until<TasksDocument>(browser, '/api/tasks', ({ total }) => total === 1);
  const status = await fleet.until<StatusDocument>(browser, '/api/status', ({ skipped }) => skipped >= 11);
  assert.equal(status.skipped, 11);
  assert.match(await (await fetch(`${fleet.url}/metrics`)).text(), /fleet_console_events_skipped_total 11/);
  const next = await fleet.restart();
  await publish(fleet.nats.url, [neo('submitted', { id: 'second' })]);
  const again = await next.signIn();
  await next.until<TasksDocument>(again, '/api/tasks', ({ total }) => total === 2);
  assert.equal((await again.json<StatusDocument>('/api/status')).skipped, 11, 'each message is read once');
});

test('fields of a wrong type or size count as absent, and markup stays text', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const neo = eventMaker('neo');
  const deep = JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`);
  const [task, big] = [{ id: 'x/../y', taskId: MARKUP, caller: MARKUP }, { id: 'big' }];
  const wrong = {
    ...{
      tokens_spent: '7',
      own_tokens: -1,
      usage: { input_tokens: Number.MAX_SAFE_INTEGER + 1 },
      unmet: deep,
    },
    ...{ reason: {}, model: 7, model_tier: [], executed_by: null, budget_tokens: -0.5, overrun: 'yes' },
  };
  await publish(fleet.nats.url, [
    neo('submitted', task, { priority: 5, budget_tokens: 'all', deadline: MARKUP, target: [] }),
    neo('progress', task, {
      tool: MARKUP,
      phase: 'started',
      usage: null,
      step: {},
      __proto__: { polluted: true },
    }),
    neo('error', task, wrong),
    neo('submitted', big),
    neo('progress', big, { tool: 'a'.repeat(200_000), list: Array(20_000).fill('x'.repeat(30)), deep }),
    announce('neo', { worker: 7, session: [], mcp_health: MARKUP, capabilities: null, ttl_s: -1 }),
  ]);
  const browser = await fleet.signIn();
  await fleet.until<TasksDocument>(browser, '/api/tasks?state=error', ({ total }) => total === 1);
  const response = await browser.get(`/api/tasks/neo/${encodeURIComponent('x/../y')}`);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  const { task: row, timeline } = (await response.json()) as TaskDocument;
  assert.deepEqual(
    [row.task_id, row.caller, row.spent_tokens, row.budget_tokens, row.priority, row.deadline, row.reason],
    [MARKUP, MARKUP, 0, null, null, null, null],
  );
  assert.equal(timeline[1]?.text, `${MARKUP} runs`);
  await fleet.until<TasksDocument>(browser, '/api/tasks?q=big&state=running', ({ total }) => total === 1);
  const large = await browser.json<TaskDocument>('/api/tasks/neo/big');
  assert.ok(JSON.stringify(large).length < 10_000);
  const { peers } = await fleet.until<FleetDocument>(
    browser,
    '/api/fleet',
    (found) => found.peers.length === 1,
  );
  assert.deepEqual(
    [peers[0]?.model, peers[0]?.mcp, peers[0]?.ttl_s, peers[0]?.repository],
    ['unknown', [], 90, null],
  );
  assert.equal((await browser.json<StatusDocument>('/api/status')).skipped, 0);
});

test('the largest numbers of events leave every view readable', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const neo = eventMaker('neo');
  const [most, last] = [{ id: 'most' }, { id: 'last' }];
  const usage = { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: Number.MAX_SAFE_INTEGER };
  await publish(fleet.nats.url, [
    neo('submitted', most),
    neo('progress', most, { step: 1, usage, model: 'm' }),
    neo('submitted', last),
  ]);
  const browser = await fleet.signIn();
  await fleet.until<TasksDocument>(browser, '/api/tasks', ({ total }) => total === 2);
  for (const path of ['/api/spending', '/api/blocked', '/api/tasks/neo/most'])
    assert.equal((await browser.get(path)).status, 200, path);
});

test(
  'an event of a clock that is ahead is no later than its arrival, and text that is no JSON is not kept',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const future = '9999-12-31T23:59:59.000Z';
    const make = eventMaker('neo')('done', { id: 'ahead' }, { tokens_spent: 3, own_tokens: 3 });
    const nc = await openConnection({ servers: [fleet.nats.url], name: 'x' }, t.signal);
    await nc.jetstream().publish('fleet.task.neo.done', 'SECRET that is no JSON');
    await nc.close();
    await publish(fleet.nats.url, [
      { ...make, event: { ...make.event, time: future } },
      announce('neo', { worker: {} }),
    ]);
    const browser = await fleet.signIn();
    const { tasks } = await fleet.until<TasksDocument>(browser, '/api/tasks', ({ total }) => total === 1);
    assert.ok(Date.parse(tasks[0]?.ended_at ?? future) <= Date.now());
    const status = await fleet.until<StatusDocument>(browser, '/api/status', ({ skipped }) => skipped === 1);
    assert.ok(Date.parse(status.last_event_at ?? future) <= Date.now(), 'a view can become stale');
    const spending = await browser.json<SpendingDocument>('/api/spending');
    assert.equal(spending.totals[0]?.tokens, 3, 'it counts now');
    await fleet.stop();
    for (const name of readdirSync(fleet.stateDir).filter((each) => each.startsWith('console.db')))
      assert.doesNotMatch(readFileSync(join(fleet.stateDir, name), 'latin1'), /SECRET/, name);
  },
);

test(
  'a stream that is deleted is named, and one that is created again is read from its start',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const browser = await fleet.signIn();
    const neo = eventMaker('neo');
    await publish(fleet.nats.url, [neo('submitted', { id: 'a' }), neo('submitted', { id: 'b' })]);
    await fleet.until<TasksDocument>(browser, '/api/tasks', ({ total }) => total === 2);
    const nc = await openConnection({ servers: [fleet.nats.url], name: 'x' }, t.signal);
    await (await nc.jetstreamManager()).streams.delete('FLEET');
    await nc.close();
    // The consumer that is gone shows when its next message is asked for.
    await fleet.nats.restart();
    const away = await fleet.until<StatusDocument>(
      browser,
      '/api/status',
      ({ bus }) => bus.reason?.includes('stream not found') === true,
    );
    assert.equal(away.bus.connected, false);
    assert.equal((await browser.json<TasksDocument>('/api/tasks')).total, 2, 'what is known stays');
    await setUpStreams({ connection: { servers: [fleet.nats.url], name: 'set-up' }, log: silentLog });
    await publish(fleet.nats.url, [neo('submitted', { id: 'c' })]);
    await fleet.until<TasksDocument>(browser, '/api/tasks', ({ total }) => total === 3);
  },
);
