import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { startTestConsole } from '../testing/console.ts';
import { eventMaker, publish, type SentEvent, STARTED_AT } from '../testing/events.ts';
import type { BlockedDocument } from './http/blocked.ts';
import type { SpendingDocument } from './http/spending.ts';
import type { StatusDocument } from './http/status.ts';
import type { TasksDocument } from './http/task-list.ts';
import type { TaskDocument } from './http/task-page.ts';

const RANGE = `since=${new Date(STARTED_AT).toISOString()}&until=${new Date(STARTED_AT + 3_600_000).toISOString()}`;
const usage = (input: number, output: number) => ({
  ...{ input_tokens: input, output_tokens: output },
  ...{ cache_read_tokens: 100, cache_write_tokens: 0, reasoning_tokens: 5 },
});
const prices = {
  currency: 'EUR',
  models: { small: { input: 1_000_000, output: 2_000_000, cache_read: 0, cache_write: 0 } },
};

/** A task that entered at switch, was refused by neo and done by morpheus, and one that was blocked. */
function mixedTraffic(): SentEvent[] {
  const [atSwitch, atNeo, atMorpheus] = [eventMaker('switch'), eventMaker('neo'), eventMaker('morpheus')];
  const root = { root_id: 'flight-1', root_caller: 'operator' };
  const entered = { id: 'S1', taskId: 'flight-1' };
  const part = { id: 'M1', taskId: 'S1', caller: 'switch' };
  const refused = { id: 'N1', taskId: 'S1', caller: 'switch' };
  const ofPart = { ...root, parent_task_id: 'flight-1', parent_profile: 'switch' };
  const considered = [{ peer: 'neo', verdict: 'eligible', score: 0.9, reasons: ['least loaded'] }];
  return [
    atSwitch('submitted', entered, { ...root, budget_tokens: 500, target: 'auto' }),
    atSwitch('started', entered, { ...root, model: 'relay', model_tier: 'none', resumes: 0 }),
    atSwitch('delegated', entered, { ...root, peer: 'neo', attempt: 1, considered }),
    atNeo('submitted', refused, ofPart),
    atNeo('blocked', refused, {
      ...ofPart,
      tokens_spent: 0,
      reason: 'mcp',
      unmet: [{ kind: 'mcp', name: 'memory' }],
    }),
    atSwitch('rerouted', entered, { ...root, from: 'neo', to: 'morpheus', reason: 'mcp' }),
    atSwitch('delegated', entered, { ...root, peer: 'morpheus', attempt: 2, considered }),
    atMorpheus('submitted', part, { ...ofPart, budget_tokens: 500 }),
    atMorpheus('started', part, { ...ofPart, model: 'small', model_tier: 'haiku', resumes: 0 }),
    atMorpheus('progress', part, {
      ...ofPart,
      step: 1,
      spent_tokens: 30,
      model: 'small',
      usage: usage(20, 10),
    }),
    atMorpheus('done', part, {
      ...{ ...ofPart, tokens_spent: 70, own_tokens: 70, delegated_tokens: 0, executed_by: 'morpheus' },
      ...{ model: 'small', model_tier: 'haiku', usage: usage(50, 20), overrun: false },
    }),
    atSwitch('done', entered, {
      ...{
        ...root,
        tokens_spent: 70,
        own_tokens: 0,
        delegated_tokens: 70,
        executed_by: 'morpheus',
        attempts: 2,
      },
      ...{ model: 'relay', model_tier: 'none', usage: { input_tokens: 0, output_tokens: 0 } },
    }),
    atSwitch(
      'submitted',
      { id: 'S2' },
      { root_id: 'name-of-S2', root_caller: 'operator', budget_tokens: 900 },
    ),
    atSwitch(
      'blocked',
      { id: 'S2' },
      {
        ...{ root_id: 'name-of-S2', root_caller: 'operator', tokens_spent: 0, reason: 'capability' },
        ...{ unmet: [{ kind: 'capability', name: 'browser' }], saved_tokens: 900 },
      },
    ),
  ];
}

test(
  'a task that was refused once and done by another peer is one task in every view',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t, { config: { prices } });
    await publish(fleet.nats.url, mixedTraffic());
    const browser = await fleet.signIn();
    await fleet.until<{ total: number }>(browser, '/api/tasks?state=blocked', ({ total }) => total === 1);
    await fleet.until<{ total: number }>(
      browser,
      '/api/tasks?state=done&parts=true',
      ({ total }) => total === 2,
    );
    const { states } = await browser.json<TasksDocument>('/api/tasks?state=blocked&profile=switch');
    assert.deepEqual(states, { blocked: 1, done: 1 }, 'of all filters but the state');

    const page = await browser.json<TaskDocument>('/api/tasks/switch/S1');
    assert.equal(page.task.cost, 50 + 2 * 20);
    assert.deepEqual(
      page.attempts.map(({ peer, status, reason, considered }) => [
        peer,
        status,
        reason,
        considered[0]?.reasons,
      ]),
      [
        ['neo', 'refused', 'mcp', ['least loaded']],
        ['morpheus', 'done', null, ['least loaded']],
      ],
    );
    const nodes = page.tree.parts.map(({ profile, state, own_tokens, cost }) => [
      profile,
      state,
      own_tokens,
      cost,
    ]);
    assert.deepEqual(nodes.sort(), [
      ['morpheus', 'done', 70, 90],
      ['neo', 'blocked', 0, 0],
    ]);
    assert.deepEqual([page.tree.own_tokens, page.tree.delegated_tokens, page.tree.cost], [0, 70, 0]);
    assert.equal(page.timeline.length, 12);
    assert.ok(page.timeline.some(({ profile, text }) => profile === 'neo' && text === 'Blocked: mcp memory'));
    const part = await browser.json<TaskDocument>('/api/tasks/morpheus/M1');
    assert.deepEqual(part.parent, { profile: 'switch', id: 'S1', task_id: 'flight-1' });

    const blocked = await browser.json<BlockedDocument>(`/api/blocked?${RANGE}`);
    assert.deepEqual([blocked.ended, blocked.blocked, blocked.tokens_saved], [2, 1, 900]);
    assert.deepEqual(blocked.reasons, [{ kind: 'capability', tasks: 1, tokens_saved: 900 }]);
    const missing = { kind: 'capability', name: 'browser', tasks: 1, alone: 1, tokens_saved: 900 };
    assert.deepEqual(blocked.missing, [missing]);
    assert.equal(
      blocked.buckets.reduce((sum, { ended }) => sum + ended, 0),
      2,
    );

    for (const [by, key] of [
      ['profile', 'morpheus'],
      ['tier', 'haiku'],
      ['model', 'small'],
      ['caller', 'operator'],
      ['tree', 'flight-1'],
    ]) {
      const spending = await browser.json<SpendingDocument>(`/api/spending?${RANGE}&by=${by}`);
      assert.deepEqual(spending.keys, [key], by);
      const [total] = spending.totals;
      assert.deepEqual([total?.tokens, total?.tasks, total?.cost, total?.usage], [70, 1, 90, usage(50, 20)]);
      assert.equal(
        spending.buckets.reduce((sum, { tokens }) => sum + (tokens[0] ?? 0), 0),
        70,
      );
      assert.deepEqual(
        spending.trees.map(({ id, tokens, cost }) => [id, tokens, cost]),
        [['S1', 70, 90]],
      );
      assert.deepEqual([spending.currency, spending.unpriced], ['EUR', []]);
    }
  },
);

test('while the bus is away the views stay, and the status says so', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  await publish(fleet.nats.url, mixedTraffic());
  const browser = await fleet.signIn();
  await fleet.until<{ total: number }>(browser, '/api/tasks', ({ total }) => total === 2);
  const before = await fleet.until<StatusDocument>(browser, '/api/status', ({ behind }) => behind === 0);
  assert.deepEqual([before.bus, before.skipped], [{ connected: true, reason: null }, 0]);
  assert.equal(before.reaches_back_to, new Date(STARTED_AT + 1_000).toISOString());
  await fleet.nats.kill();
  const away = await fleet.until<StatusDocument>(browser, '/api/status', ({ bus }) => !bus.connected);
  assert.deepEqual([away.behind, typeof away.bus.reason], [null, 'string']);
  const ready = await fetch(`${fleet.url}/ready`);
  assert.deepEqual([ready.status, ((await ready.json()) as { status: string }).status], [200, 'degraded']);
  assert.equal((await browser.json<{ total: number }>('/api/tasks')).total, 2);
  await fleet.nats.restart();
  await fleet.until<StatusDocument>(browser, '/api/status', ({ bus }) => bus.connected);
});
