import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError, HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { decodeAnnounce } from '@hermes-fleet/protocol/handshake';
import { freePort } from '../testing/free-port.ts';
import { dispatching, inbound } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { CALLER, DONE, untilAborted } from '../testing/scripts.ts';
import type { TestProfile } from '../testing/test-profile.ts';

const code = (wanted: string) => (error: unknown) => error instanceof FleetError && error.code === wanted;

describe('a dispatch', () => {
  it("passes submitted, queued, started and done; its result has the executor's outcome and the metered tokens", async (t) => {
    const neo = await profile(t, {
      script: async (task, { budget, reportEvent }) => {
        const call = await budget.reserve({ inputTokens: 30, maxOutputTokens: 20 });
        await call.settle({ inputTokens: 30, outputTokens: 12, source: 'metered' });
        await reportEvent({ type: 'progress', data: { step: 1 } });
        await reportEvent({ type: 'text', text: `did ${task.dispatch.brief}` });
        return { ...DONE, artifacts: { filesChanged: ['a.ts'] }, nextSteps: ['review'] };
      },
    });
    const id = await neo.send(dispatching({ task_id: 'abc-123', token_budget: 4_000 }));
    const result = await neo.result(id);
    assert.deepEqual(neo.events(id), ['submitted', 'queued', 'started', 'progress', 'done']);
    assert.equal(result.taskId, 'abc-123');
    assert.equal(result.status, 'done');
    assert.equal(result.tokensSpent, 42);
    assert.deepEqual(result.artifacts.filesChanged, ['a.ts']);
    assert.equal(result.executedBy, 'neo');
    assert.equal(result.usage?.model, 'scripted');
    assert.equal(neo.task(id).state, 'completed');
  });

  it('runs once, however many copies arrive at the same time', async (t) => {
    const gate = Promise.withResolvers<void>();
    const neo = await profile(t, { script: () => gate.promise.then(() => DONE) });
    const message = dispatching({ task_id: 'one' });
    const ids = await Promise.all(Array.from({ length: 100 }, () => neo.send(message)));
    assert.equal(new Set(ids).size, 1);
    gate.resolve();
    const [id = ''] = ids;
    await neo.result(id);
    assert.equal(await neo.send(message), id);
    assert.deepEqual(neo.runs, [id]);
    await assert.rejects(
      neo.send(dispatching({ task_id: 'one' }, { brief: 'else' })),
      code('TASK_ID_CONFLICT'),
    );
  });

  it('is blocked at once and at no cost when it cannot be done, and may be sent again', async (t) => {
    const neo = await profile(t);
    neo.facts.mcp.trek = 'timeout';
    neo.facts.clean = false;
    const message = dispatching({ task_id: 'x' }, { requirements: { required_mcp: ['trek'] } });
    const id = await neo.send(message);
    assert.equal(neo.task(id).state, 'rejected');
    const result = await neo.result(id);
    assert.equal(result.tokensSpent, 0);
    assert.match(
      result.blockedReason ?? '',
      /"trek" is not healthy \(timeout after 1000 ms\); the working tree \/app is dirty/,
    );
    assert.deepEqual(
      result.unmet?.map(({ kind }) => kind),
      ['mcp', 'repo'],
    );
    assert.deepEqual(neo.events(id), ['submitted', 'blocked']);
    assert.deepEqual(neo.runs, []);
    neo.facts.mcp.trek = 'ok';
    neo.facts.clean = true;
    const again = await neo.send(message);
    assert.notEqual(again, id);
    assert.equal((await neo.result(again)).status, 'done');
  });

  it('is blocked for a foreign major version before its other fields are judged', async (t) => {
    const neo = await profile(t);
    const data = {
      type: 'TASK_DISPATCH',
      protocol_version: '3.0',
      task: { task_id: 'v3' },
      shape: 'unknown',
    };
    const id = await neo.send({ data: [{ data, mediaType: undefined }] });
    const result = await neo.result(id);
    assert.deepEqual([result.taskId, result.status, result.unmet?.[0]?.kind], ['v3', 'blocked', 'version']);
  });

  it('is refused with every invalid field, and leaves nothing behind', async (t) => {
    const neo = await profile(t);
    await assert.rejects(neo.send(dispatching({ priority: 'soon', token_budget: 1.5 })), (error) => {
      assert.ok(error instanceof FleetError);
      assert.deepEqual(error.fields.map(({ path }) => path).sort(), ['task.priority', 'task.token_budget']);
      return error.code === 'INVALID_PARAMS';
    });
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('is blocked when its caller lacks the scope', async (t) => {
    const neo = await profile(t);
    const id = await neo.send(dispatching(), { name: 'reader', scopes: new Set(['read']) });
    const { unmet, tokensSpent } = await neo.result(id);
    assert.deepEqual([unmet?.map(({ kind }) => kind), tokensSpent, neo.runs], [['scope'], 0, []]);
  });

  it('carries our announce in the reply only when its context is new or it is refused', async (t) => {
    const neo = await profile(t);
    const first = await neo.gateway.accept(inbound({ ...dispatching(), contextId: 'c' }), CALLER);
    assert.ok(first.kind === 'task');
    const carried = neo.gateway.replyMetadata(first.taskId)?.[HANDSHAKE_EXTENSION];
    assert.equal(decodeAnnounce(carried).session.contextId, 'c');
    assert.equal(decodeAnnounce(carried).worker.agentId, 'neo');
    const second = await neo.send({ ...dispatching(), contextId: 'c' });
    assert.equal(neo.gateway.replyMetadata(second), undefined);
    const required = { requirements: { required_mcp: ['nope'] } };
    const refused = await neo.send({ ...dispatching({}, required), contextId: 'c' });
    assert.ok(neo.gateway.replyMetadata(refused)?.[HANDSHAKE_EXTENSION], 'a refusal tells what has changed');
  });

  it('ends as an error without internals when its executor fails unexpectedly', async (t) => {
    const neo = await profile(t, { script: () => Promise.reject(new Error('/etc/secret is missing')) });
    const { error, status } = await neo.result(await neo.send(dispatching()));
    assert.equal(status, 'error');
    assert.deepEqual([error?.code, error?.retryable], ['internal', true]);
    assert.doesNotMatch(error?.message ?? '', /secret/);
  });

  it('waits for the earlier task of its context; other contexts do not wait', async (t) => {
    const gates = new Map<string, () => void>();
    const started: string[] = [];
    const neo = await profile(t, {
      script: (task) =>
        new Promise((resolve) => {
          started.push(task.dispatch.task.taskId);
          gates.set(task.dispatch.task.taskId, () => resolve(DONE));
        }),
    });
    const a1 = await neo.send({ ...dispatching({ task_id: 'a1' }), contextId: 'a' });
    const a2 = await neo.send({ ...dispatching({ task_id: 'a2' }), contextId: 'a' });
    const b1 = await neo.send({ ...dispatching({ task_id: 'b1' }), contextId: 'b' });
    await neo.event(b1, 'started');
    assert.equal(neo.task(a2).state, 'queued');
    assert.deepEqual([neo.gateway.activeTasks(), neo.gateway.queuedTasks()], [2, 1]);
    gates.get('a1')?.();
    await neo.result(a1);
    await neo.event(a2, 'started');
    for (const open of gates.values()) open();
    await Promise.all([neo.result(a2), neo.result(b1)]);
    assert.deepEqual(started, ['a1', 'b1', 'a2']);
  });

  it('is blocked when the queue is full', async (t) => {
    const neo = await profile(t, {
      script: untilAborted,
      fleet: { limits: { max_concurrent_tasks: 1, queue_depth: 1 } },
    });
    const ids = await Promise.all(Array.from({ length: 5 }, () => neo.send(dispatching())));
    const states = ids.map((id) => neo.task(id).state);
    assert.equal(states.filter((state) => state === 'rejected').length, 3);
    const rejected = ids.find((id) => neo.task(id).state === 'rejected') ?? '';
    assert.equal((await neo.result(rejected)).unmet?.[0]?.kind, 'capacity');
    assert.ok(!neo.runs.includes(rejected), 'the executor never heard of it');
  });
});

describe('metrics', () => {
  it('count admissions, tokens by caller and tier, and what blocking saved', async (t) => {
    const neo = await profile(t, {
      script: async (_task, { budget }) => {
        const call = await budget.reserve({ inputTokens: 30, maxOutputTokens: 12 });
        await call.settle({ inputTokens: 30, outputTokens: 12, source: 'metered' });
        return DONE;
      },
    });
    await neo.result(await neo.send(dispatching()));
    await neo.send(dispatching({ token_budget: 4_000 }, { requirements: { required_mcp: ['nope'] } }));
    const text = await neo.metrics();
    for (const line of [
      /fleet_task_admissions_total\{profile="neo",decision="accepted",reason="none"\} 1/,
      /fleet_task_admissions_total\{profile="neo",decision="blocked",reason="mcp"\} 1/,
      /fleet_tokens_spent_total\{profile="neo",caller="operator",model_tier="sonnet",type="input"\} 30/,
      /fleet_tokens_spent_total\{profile="neo",caller="operator",model_tier="sonnet",type="output"\} 12/,
      /fleet_tokens_saved_total.* 4000/,
      /fleet_tasks_total\{profile="neo",model_tier="sonnet",status="done"\} 1/,
      /fleet_tasks_total\{profile="neo",model_tier="sonnet",status="blocked"\} 1/,
    ])
      assert.match(text, line);
  });
});

describe('the load that peers see', () => {
  it('counts running tasks as active and waiting ones as queued; a session is fresh until a task has run', async (t) => {
    const neo = await profile(t, {
      script: untilAborted,
      fleet: { limits: { max_concurrent_tasks: 1, queue_depth: 5 } },
    });
    const said = () => {
      const { session, limits } = neo.gateway.announce();
      return [session.activeTasks, limits?.queuedTasks, session.sessionFresh];
    };
    assert.deepEqual(said(), [0, 0, true]);
    const blocked = await neo.send(dispatching({}, { requirements: { required_mcp: ['nope'] } }));
    assert.equal((await neo.result(blocked)).status, 'blocked');
    assert.deepEqual(said(), [0, 0, true], 'what was blocked has not run');
    const running = await neo.send(dispatching());
    await neo.event(running, 'started');
    await neo.send(dispatching());
    const waiting = await neo.send(dispatching());
    assert.deepEqual(said(), [1, 2, false]);
    await neo.gateway.cancel(waiting, CALLER);
    await neo.result(waiting);
    assert.deepEqual(said(), [1, 1, false]);
  });

  it('is fresh again after a restart', async (t) => {
    const neo = await profile(t);
    await neo.result(await neo.send(dispatching()));
    const before = neo.gateway.announce();
    await neo.crash();
    await neo.restart();
    const after = neo.gateway.announce();
    assert.deepEqual([before.session.sessionFresh, after.session.sessionFresh], [false, true]);
    assert.ok((after.instanceId ?? '') > (before.instanceId ?? ''), 'and the greater instance wins');
  });

  /** Resolves when switch knows from an announce that neo runs this many tasks. */
  function seen(by: TestProfile, active: number): Promise<void> {
    const said = (): boolean => by.peers.get('neo')?.announce?.session.activeTasks === active;
    return new Promise((resolve) => {
      const heard = by.peers.onChange(() => {
        if (!said()) return;
        heard[Symbol.dispose]();
        resolve();
      });
    });
  }

  it('is announced again when a profile that was announced as busy is idle', {
    timeout: 20_000,
  }, async (t) => {
    const agents = { switch: await freePort(), neo: await freePort() };
    const gate = Promise.withResolvers<void>();
    const script = () => gate.promise.then(() => DONE);
    const hub = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
    const neo = await profile(t, { name: 'neo', agents, script });
    await hub.serve();
    await neo.serve();
    const id = await neo.send(dispatching({ task_id: 'busy' }));
    await neo.firstRun;
    const busy = seen(hub, 1);
    neo.announcer.start();
    await busy;
    const idle = seen(hub, 0);
    gate.resolve();
    await neo.result(id);
    await idle;
  });
});
