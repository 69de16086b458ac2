import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLER, DONE, profile, type Script, untilAborted } from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import { hasCode } from '@hermes-fleet/protocol/testing';

describe('a dispatch with a known task_id', () => {
  const BASE = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: {
      task_id: 'one',
      priority: 'normal',
      reply_schema: 'structured',
      token_budget: 4_000,
      write: true,
      parent: { task_id: 'p', profile: 'desk' },
      root_id: 'r',
      path: ['desk'],
    },
    requirements: {
      required_mcp: ['memory'],
      required_capabilities: ['file'],
      model_tier: { min: 'haiku' },
      min_context_window: 100,
    },
    deadline: '2126-01-01T00:00:00Z',
    brief: 'do it',
    routing: { target: 'neo', on_blocked: 'fail', max_attempts: 1 },
  };
  const message = (data: JsonObject) => ({ data: [{ data, mediaType: 'application/json' }] });
  const inTask = (task: JsonObject): JsonObject => ({ ...BASE, task: { ...BASE.task, ...task } });
  const inRequirements = (more: JsonObject): JsonObject => ({
    ...BASE,
    requirements: { ...BASE.requirements, ...more },
  });
  const { token_budget: _budget, path: _path, ...bare } = BASE.task;
  const { deadline: _deadline, routing: _routing, ...undated } = BASE;

  const SAME: [string, JsonObject][] = [
    ['nothing', BASE],
    ['the order of its keys', Object.fromEntries(Object.entries(BASE).reverse())],
    ['its budget', inTask({ token_budget: 9_000 })],
    ['its path', inTask({ path: ['desk', 'switch'] })],
    ['its deadline', { ...BASE, deadline: '2127-01-01T00:00:00Z' }],
    ['its target', { ...BASE, routing: { target: 'auto' } }],
    ['its policy', { ...BASE, routing: { target: 'neo', on_blocked: 'queue', max_attempts: 5 } }],
    ['missing optional fields', { ...undated, task: bare }],
  ];
  const OTHER: [string, JsonObject][] = [
    ['its brief', { ...BASE, brief: 'do something else' }],
    ['its version', { ...BASE, protocol_version: '2.1' }],
    ['its priority', inTask({ priority: 'urgent' })],
    ['its reply', inTask({ reply_schema: 'prose' })],
    ['whether it writes', inTask({ write: false })],
    ['its parent', inTask({ parent: { task_id: 'q', profile: 'desk' } })],
    ['its root', inTask({ root_id: 's' })],
    ['its output schema', inTask({ output_schema: { type: 'object' } })],
    ['a required server', inRequirements({ required_mcp: [] })],
    ['a required capability', inRequirements({ required_capabilities: ['file', 'terminal'] })],
    ['its tier', inRequirements({ model_tier: { min: 'sonnet' } })],
    ['its window', inRequirements({ min_context_window: 200 })],
    ['an unknown field', inTask({ x_vendor: 1 })],
  ];

  it('returns the known task if only attempt fields differ, during and after its run', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const id = await neo.send(message(BASE));
    await neo.event(id, 'started');
    for (const [what, data] of SAME) assert.equal(await neo.send(message(data)), id, what);
    await neo.gateway.cancel(id, CALLER);
    for (const [what, data] of SAME) assert.equal(await neo.send(message(data)), id, what);
    assert.deepEqual(neo.runs, [id]);
  });

  for (const [what, data] of OTHER)
    it(`is refused if it differs in ${what}`, async (t) => {
      const neo = await profile(t);
      const id = await neo.send(message(BASE));
      assert.notDeepEqual(data, BASE);
      await assert.rejects(neo.send(message(data)), hasCode('TASK_ID_CONFLICT'));
      await neo.result(id);
      await assert.rejects(neo.send(message(data)), hasCode('TASK_ID_CONFLICT'));
      assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 1);
    });

  const outcome = (status: RunOutcome['status'], more: Partial<RunOutcome> = {}): Script => {
    return async () => ({ ...DONE, status, ...more });
  };
  for (const [status, script] of [
    ['done', outcome('done')],
    ['partial', outcome('partial', { remaining: ['x'] })],
    ['error', outcome('error', { error: { code: 'c', message: 'm', retryable: true } })],
  ] as const)
    it(`returns the result ${status}, also after a restart, and only to the same caller`, async (t) => {
      const neo = await profile(t, { script });
      const id = await neo.send(message(BASE));
      assert.equal((await neo.result(id)).status, status);
      assert.equal(await neo.send(message(BASE)), id);
      await neo.crash();
      await neo.restart();
      assert.equal(await neo.send(message(BASE)), id);
      assert.notEqual(await neo.send(message(BASE), { ...CALLER, name: 'somebody' }), id);
    });

  it('is admitted again, unchanged or changed, if the first was blocked', async (t) => {
    const neo = await profile(t);
    neo.facts.mcp.memory = 'error';
    const first = await neo.send(message(BASE));
    assert.equal((await neo.result(first)).status, 'blocked');
    const second = await neo.send(message(BASE));
    assert.notEqual(second, first);
    assert.equal((await neo.result(second)).status, 'blocked');
    neo.facts.mcp.memory = 'ok';
    const third = await neo.send(message({ ...BASE, brief: 'do something else' }));
    assert.equal((await neo.result(third)).status, 'done');
    assert.deepEqual(neo.runs, [third]);
    await assert.rejects(neo.send(message(BASE)), hasCode('TASK_ID_CONFLICT'));
  });
});
