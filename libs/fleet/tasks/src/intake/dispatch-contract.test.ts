import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  freePort,
  handshakeIn,
  profile,
  rpc,
  type Script,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

describe('priority', () => {
  for (const [asked, taken] of [
    [undefined, 'normal'],
    ['low', 'low'],
    ['normal', 'normal'],
    ['high', 'high'],
    ['urgent', 'urgent'],
  ] as const)
    it(`${asked ?? 'absent'} is ${taken}`, async (t) => {
      const neo = await profile(t);
      const id = await neo.send(dispatching(asked === undefined ? {} : { priority: asked }));
      assert.equal((await neo.event(id, 'queued')).priority, taken);
      await neo.result(id);
    });

  it('decides the order of the tasks', async (t) => {
    const first = Promise.withResolvers<void>();
    const neo = await profile(t, {
      script: async (task) => {
        if (task.dispatch.task.taskId === 'first') await first.promise;
        return DONE;
      },
      fleet: { limits: { max_concurrent_tasks: 1 } },
    });
    const ids = [await neo.send(dispatching({ task_id: 'first' }))];
    await neo.firstRun;
    for (const priority of ['low', 'normal', 'high', 'urgent'])
      ids.push(await neo.send(dispatching({ task_id: priority, priority })));
    first.resolve();
    await Promise.all(ids.map((id) => neo.result(id)));
    assert.deepEqual(
      neo.runs.map((id) => neo.task(id).key),
      ['first', 'urgent', 'high', 'normal', 'low'],
    );
  });
});

describe('the executor of a dispatch', () => {
  for (const [orchestrate, target, lane] of [
    [true, undefined, 'relay'],
    [true, 'auto', 'relay'],
    [true, 'neo', 'own'],
    [true, 'morpheus', 'relay'],
    [false, undefined, 'own'],
    [false, 'auto', 'own'],
    [false, 'neo', 'own'],
    [false, 'morpheus', 'relay'],
  ] as const)
    it(`for target ${target ?? 'none'} on ${orchestrate ? 'an orchestrator' : 'a worker'}: ${lane}`, async (t) => {
      const agents = { neo: await freePort(), morpheus: await freePort() };
      const morpheus = await profile(t, { name: 'morpheus', agents });
      await morpheus.serve();
      const neo = await profile(t, { agents, fleet: { orchestrate } });
      neo.announcer.start();
      await neo.heard('morpheus');
      const id = await neo.send(dispatching({}, target === undefined ? {} : { routing: { target } }));
      const result = await neo.result(id);
      assert.equal((await neo.event(id, 'queued')).lane, lane, result.blockedReason ?? '');
      assert.equal(result.executedBy, lane === 'own' ? 'neo' : 'morpheus');
      assert.equal(neo.runs.length, lane === 'own' ? 1 : 0);
    });
});

describe('a write task', () => {
  for (const [write, required, blocked] of [
    [undefined, undefined, true],
    [undefined, ['file'], true],
    [undefined, ['terminal'], true],
    [undefined, ['browser'], false],
    [true, ['browser'], true],
    [false, ['file'], false],
  ] as const)
    it(`write ${write}, required ${required ?? 'nothing'}: ${blocked ? 'not' : 'taken'} on a dirty tree`, async (t) => {
      const neo = await profile(t);
      neo.facts.clean = false;
      const rest: JsonObject = required ? { requirements: { required_capabilities: [...required] } } : {};
      const id = await neo.send(dispatching(write === undefined ? {} : { write }, rest));
      const { unmet = [] } = await neo.result(id);
      assert.equal(
        unmet.some(({ kind }) => kind === 'repo'),
        blocked,
      );
    });
});

describe('a result in A2A', () => {
  const failure = { code: 'model_failed', message: 'the model is away', retryable: true };
  const TABLE: readonly [what: string, script: Script, state: string, status: string, says?: RegExp][] = [
    ['done', async () => DONE, 'TASK_STATE_COMPLETED', 'done'],
    [
      'partial',
      async () => ({ ...DONE, status: 'partial', remaining: ['the tests', 'the docs'] }),
      'TASK_STATE_COMPLETED',
      'partial',
      /^partial; remaining: the tests; the docs$/,
    ],
    [
      'blocked',
      async () => ({ ...DONE, status: 'blocked', blockedReason: 'nobody is there' }),
      'TASK_STATE_REJECTED',
      'blocked',
      /^nobody is there$/,
    ],
    [
      'error',
      async () => ({ ...DONE, status: 'error', error: failure }),
      'TASK_STATE_FAILED',
      'error',
      /^the model is away$/,
    ],
    ['canceled', untilAborted, 'TASK_STATE_CANCELED', 'error', /canceled by its caller/],
  ];
  for (const [what, script, state, status, says] of TABLE)
    it(`${what}: ${state}`, async (t) => {
      const neo = await profile(t, { script });
      await neo.serve();
      const id = await neo.send(dispatching());
      if (what === 'canceled') {
        await neo.event(id, 'started');
        await neo.gateway.cancel(id, CALLER);
      }
      await neo.result(id);
      const { result: task } = await rpc(neo, 'GetTask', { id });
      assert.ok(isJsonObject(task) && isJsonObject(task.status));
      assert.equal(task.status.state, state);
      const result = handshakeIn(task, 'TASK_RESULT');
      assert.equal(result.status, status);
      assert.equal(result.blocked_reason === null, status !== 'blocked');
      if (what === 'canceled') assert.equal(isJsonObject(result.error) && result.error.code, 'canceled');
      const said = JSON.stringify(task.status.message ?? null);
      if (says === undefined) assert.equal(said, 'null');
      else assert.match(/"text":"([^"]*)"/.exec(said)?.[1] ?? '', says);
    });
});
