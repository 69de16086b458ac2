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
} from '@hermes-fleet/fleet/testing';
import { FleetError, isJsonObject, type JsonObject, type RunOutcome } from '@hermes-fleet/protocol';

const code = (wanted: string) => (error: unknown) => error instanceof FleetError && error.code === wanted;

describe('a dispatch under a task_id that is taken', () => {
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
    ['what may be missing', { ...undated, task: bare }],
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
    ['something that we do not know', inTask({ x_vendor: 1 })],
  ];

  it('is the task that is there where only an attempt differs, while it runs and after', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const id = await neo.send(message(BASE));
    await neo.event(id, 'started');
    for (const [what, data] of SAME) assert.equal(await neo.send(message(data)), id, what);
    await neo.gateway.cancel(id, CALLER);
    for (const [what, data] of SAME) assert.equal(await neo.send(message(data)), id, what);
    assert.deepEqual(neo.runs, [id]);
  });

  for (const [what, data] of OTHER)
    it(`is refused where it differs in ${what}`, async (t) => {
      const neo = await profile(t);
      const id = await neo.send(message(BASE));
      assert.notDeepEqual(data, BASE);
      await assert.rejects(neo.send(message(data)), code('TASK_ID_CONFLICT'));
      await neo.result(id);
      await assert.rejects(neo.send(message(data)), code('TASK_ID_CONFLICT'));
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
    it(`answers with what became of it: ${status}, also after a restart, and only to the same caller`, async (t) => {
      const neo = await profile(t, { script });
      const id = await neo.send(message(BASE));
      assert.equal((await neo.result(id)).status, status);
      assert.equal(await neo.send(message(BASE)), id);
      await neo.crash();
      await neo.restart();
      assert.equal(await neo.send(message(BASE)), id);
      assert.notEqual(await neo.send(message(BASE), { ...CALLER, name: 'somebody' }), id);
    });

  it('is admitted afresh, as it is or as another one, where the first was blocked', async (t) => {
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
    await assert.rejects(neo.send(message(BASE)), code('TASK_ID_CONFLICT'));
  });
});

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

  it('decides who goes first', async (t) => {
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

describe('who does a dispatch', () => {
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
    it(`to ${target ?? 'nobody in particular'} on ${orchestrate ? 'an orchestrator' : 'a worker'}: ${lane}`, async (t) => {
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

describe('whether a task writes', () => {
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

describe('a result as A2A shows it', () => {
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
