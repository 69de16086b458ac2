import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  decodeAnnounce,
  encodeAnnounce,
  FleetError,
  HANDSHAKE_EXTENSION,
  isJsonObject,
  systemClock,
} from '@hermes-fleet/protocol';
import { announceOf } from './testing/fakes.ts';
import { CALLER, DONE, dispatching, inbound, profile, type Script, untilAborted } from './testing/profile.ts';

const code = (wanted: string) => (error: unknown) => error instanceof FleetError && error.code === wanted;
const inSoon = (ms: number) => new Date(Date.now() + ms).toISOString();

describe('a dispatch', () => {
  it('goes submitted, queued, started, done; its result is what the executor did and the budget metered', async (t) => {
    const neo = await profile(t, {
      script: async (task, { budget, report }) => {
        const call = await budget.reserve({ inputTokens: 30, maxOutputTokens: 20 });
        await call.settle({ inputTokens: 30, outputTokens: 12, source: 'metered' });
        await report({ type: 'progress', data: { step: 1 } });
        await report({ type: 'text', text: `did ${task.dispatch.brief}` });
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

  it('that cannot be done is blocked at once, for nothing, and may be sent again', async (t) => {
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
      /"trek" is not healthy \(timeout after 1000 ms\); the working tree of neo is dirty/,
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

  it('of a foreign major version is blocked before anything else in it is judged', async (t) => {
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

  it('with wrong fields is refused, all of them named, and leaves nothing behind', async (t) => {
    const neo = await profile(t);
    await assert.rejects(neo.send(dispatching({ priority: 'soon', token_budget: 1.5 })), (error) => {
      assert.ok(error instanceof FleetError);
      assert.deepEqual(error.fields.map(({ path }) => path).sort(), ['task.priority', 'task.token_budget']);
      return error.code === 'INVALID_PARAMS';
    });
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('from a caller without the scope is blocked', async (t) => {
    const neo = await profile(t);
    const id = await neo.send(dispatching(), { name: 'reader', scopes: new Set(['read']) });
    assert.equal((await neo.result(id)).unmet?.[0]?.kind, 'scope');
  });

  it('carries our announce in the reply when its context is fresh, and only then', async (t) => {
    const neo = await profile(t);
    const first = await neo.gateway.accept(inbound({ ...dispatching(), contextId: 'c' }), CALLER);
    assert.ok(first.kind === 'task');
    const carried = neo.gateway.replyMetadata(first.taskId)?.[HANDSHAKE_EXTENSION];
    assert.equal(decodeAnnounce(carried).session.contextId, 'c');
    assert.equal(decodeAnnounce(first.metadata?.[HANDSHAKE_EXTENSION]).worker.agentId, 'neo');
    const second = await neo.send({ ...dispatching(), contextId: 'c' });
    assert.equal(neo.gateway.replyMetadata(second), undefined);
  });

  it('whose executor fails unforeseen ends as an error that tells nothing of the inside', async (t) => {
    const neo = await profile(t, { script: () => Promise.reject(new Error('/etc/secret is missing')) });
    const { error, status } = await neo.result(await neo.send(dispatching()));
    assert.equal(status, 'error');
    assert.deepEqual([error?.code, error?.retryable], ['internal', true]);
    assert.doesNotMatch(error?.message ?? '', /secret/);
  });

  it('of one context waits for the one before it; others do not', async (t) => {
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

  it('that finds the queue full is blocked', async (t) => {
    const neo = await profile(t, {
      script: untilAborted,
      fleet: { limits: { max_concurrent_tasks: 1, queue_depth: 1 } },
    });
    const ids = await Promise.all(Array.from({ length: 5 }, () => neo.send(dispatching())));
    const states = ids.map((id) => neo.task(id).state);
    assert.equal(states.filter((state) => state === 'rejected').length, 3);
    const rejected = ids.find((id) => neo.task(id).state === 'rejected') ?? '';
    assert.equal((await neo.result(rejected)).unmet?.[0]?.kind, 'capacity');
  });
});

describe('the ledger away for a while', () => {
  it('delays a task, and neither loses it nor tells its caller that it was refused', async (t) => {
    let failures = 0;
    const neo = await profile(t, {
      ledger: (real) => ({
        ...real,
        async append(id, event, change) {
          if (event.type !== 'progress' && failures < 4) {
            failures += 1;
            throw new FleetError('STORE_UNAVAILABLE', 'the disk is full');
          }
          return real.append(id, event, change);
        },
      }),
    });
    const id = await neo.send(dispatching());
    assert.equal((await neo.result(id)).status, 'done');
    assert.equal(failures, 4);
    assert.equal(neo.runs.length, 1);
  });

  it('does not have a task refused whose admission broke: it ends as an error', async (t) => {
    const neo = await profile(t, {
      ledger: (real) => ({
        ...real,
        append: (id, event, change) =>
          event.type === 'queued' ? Promise.reject(new Error('bug')) : real.append(id, event, change),
      }),
    });
    const id = await neo.send(dispatching());
    assert.deepEqual((await neo.result(id)).error?.code, 'internal');
    assert.deepEqual(neo.runs, []);
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

describe('plain text', () => {
  it('is a prose task of normal priority', async (t) => {
    const neo = await profile(t, { script: async (task) => ({ ...DONE, text: task.dispatch.brief }) });
    const id = await neo.send({ text: 'hello there' });
    assert.equal((await neo.result(id)).text, 'hello there');
    const { task } = neo.task(id).dispatch;
    assert.ok(isJsonObject(task));
    assert.deepEqual([task.priority, task.reply_schema], ['normal', 'prose']);
    assert.notEqual(await neo.send({ text: 'hello there' }), id);
  });

  it('may say how in a hint block', async (t) => {
    const neo = await profile(t);
    const text = 'TASK DISPATCH (inline)\npriority: high\nrequired_mcp: [nope]\nBrief: go';
    assert.equal((await neo.result(await neo.send({ text }))).unmet?.[0]?.name, 'nope');
    const wrong = 'TASK DISPATCH (inline)\npriority: soon\nBrief: go';
    await assert.rejects(neo.send({ text: wrong }), code('INVALID_PARAMS'));
  });

  for (const message of [{ text: '  ' }, { data: [{ data: { type: 'TASK_RESULT' }, mediaType: undefined }] }])
    it(`is needed, or a dispatch: ${JSON.stringify(message)}`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(neo.send(message), code('INVALID_PARAMS'));
    });

  it('for a task that is there is answered with what to do', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const id = await neo.send({ text: 'hello' });
    await assert.rejects(neo.send({ text: 'more', taskId: id }), code('UNSUPPORTED_OPERATION'));
    await assert.rejects(
      neo.send({ text: 'more', taskId: id, contextId: 'other' }),
      code('CONTEXT_MISMATCH'),
    );
    await assert.rejects(neo.send({ text: 'more', taskId: 'nobody' }), code('TASK_NOT_FOUND'));
  });
});

describe('the handshake', () => {
  const announcing = (agentId: string) => ({
    data: [{ data: encodeAnnounce(announceOf(agentId)), mediaType: 'application/json' }],
    contextId: 'handshake:hermes-neo',
  });

  it('answers an announce with our own, and keeps the peer', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const reply = await neo.gateway.accept(inbound(announcing('switch')), { ...CALLER, name: 'switch' });
    assert.ok(reply.kind === 'reply' && reply.data);
    const announce = decodeAnnounce(reply.data);
    assert.equal(announce.worker.agentId, 'neo');
    assert.equal(announce.session.contextId, 'handshake:hermes-neo');
    assert.deepEqual(announce.mcpHealth, { memory: 'ok' });
    assert.deepEqual(announce.limits, { maxConcurrentTasks: 4, queueDepth: 100, queuedTasks: 0 });
    assert.notEqual(neo.peers.get('switch')?.announce, undefined);
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('answers one that claims to be somebody else, and does not believe it', async (t) => {
    const neo = await profile(t, { agents: { switch: 9219 } });
    const reply = await neo.gateway.accept(inbound(announcing('switch')), CALLER);
    assert.equal(reply.kind, 'reply');
    assert.equal(neo.peers.get('switch')?.announce, undefined);
  });

  it('needs the scope announce', async (t) => {
    const neo = await profile(t);
    const reader = { name: 'reader', scopes: new Set(['read']) };
    await assert.rejects(neo.gateway.accept(inbound(announcing('reader')), reader), code('FORBIDDEN'));
    const text = inbound({ text: 'hi', contextId: 'handshake:x' });
    await assert.rejects(neo.gateway.accept(text, reader), code('FORBIDDEN'));
  });

  it('answers words on a handshake context with role, profile and readiness, and runs nothing', async (t) => {
    const neo = await profile(t);
    const message = inbound({ text: 'I am switch, the orchestrator', contextId: 'handshake:hermes-neo' });
    const reply = await neo.gateway.accept(message, CALLER);
    assert.ok(reply.kind === 'reply');
    assert.match(reply.text ?? '', /^role=agent profile=neo ready\n/);
    assert.equal(reply.data?.type, 'SESSION_ANNOUNCE');
    assert.deepEqual(neo.runs, []);
  });

  it('says what is running, that the session is not fresh any more, and counts on', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const before = neo.gateway.announce();
    assert.deepEqual([before.session.activeTasks, before.session.sessionFresh], [0, true]);
    await neo.event(await neo.send(dispatching()), 'started');
    const after = await neo.gateway.freshAnnounce();
    assert.deepEqual([after.session.activeTasks, after.session.sessionFresh], [1, false]);
    assert.ok((after.seq ?? 0) > (before.seq ?? 0));
    assert.equal(after.instanceId, before.instanceId);
  });
});

describe('cancel', () => {
  it('stops a running task: canceled, with what was spent', async (t) => {
    const neo = await profile(t, {
      script: async (task, context) => {
        const call = await context.budget.reserve({ inputTokens: 5, maxOutputTokens: 5 });
        await call.settle({ inputTokens: 5, outputTokens: 1, source: 'metered' });
        await context.report({ type: 'progress', data: {} });
        return untilAborted(task, context);
      },
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'progress');
    await neo.gateway.cancel(id, CALLER);
    const result = await neo.result(id);
    assert.equal(neo.task(id).state, 'canceled');
    assert.deepEqual([result.status, result.error?.code, result.tokensSpent], ['error', 'canceled', 6]);
    assert.equal(neo.events(id).at(-1), 'canceled');
  });

  it('takes a waiting task out of line', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    await neo.send({ ...dispatching(), contextId: 'c' });
    const id = await neo.send({ ...dispatching(), contextId: 'c' });
    await neo.gateway.cancel(id, CALLER);
    assert.equal((await neo.result(id)).error?.code, 'canceled');
    assert.equal(neo.runs.length, 1);
    assert.equal(neo.gateway.queuedTasks(), 0);
  });

  it('knows no task of another caller, and none that has ended', async (t) => {
    const neo = await profile(t);
    const id = await neo.send(dispatching());
    await neo.result(id);
    await assert.rejects(neo.gateway.cancel(id, CALLER), code('TASK_NOT_CANCELABLE'));
    await assert.rejects(neo.gateway.cancel(id, { ...CALLER, name: 'x' }), code('TASK_NOT_FOUND'));
    await assert.rejects(neo.gateway.cancel('nobody', CALLER), code('TASK_NOT_FOUND'));
  });

  it('comes too late for work that is finished all the same', async (t) => {
    const neo = await profile(t, {
      script: (_task, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(DONE))),
    });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    await assert.rejects(neo.gateway.cancel(id, CALLER), code('TASK_NOT_CANCELABLE'));
    assert.equal((await neo.result(id)).status, 'done');
  });
});

describe('a deadline', () => {
  it('that passes in the queue blocks the task', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    await neo.send({ ...dispatching(), contextId: 'c' });
    const id = await neo.send({ ...dispatching({}, { deadline: inSoon(150) }), contextId: 'c' });
    const result = await neo.result(id);
    assert.deepEqual(
      [result.status, result.tokensSpent, result.unmet?.[0]?.kind],
      ['blocked', 0, 'deadline'],
    );
    assert.equal(neo.runs.length, 1);
  });

  it('that passes in the run ends it: deadline_exceeded', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const result = await neo.result(await neo.send(dispatching({}, { deadline: inSoon(150) })));
    assert.deepEqual([result.status, result.error?.code], ['error', 'deadline_exceeded']);
  });

  it('leaves partial work partial', async (t) => {
    const neo = await profile(t, {
      script: (_task, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () =>
            resolve({ ...DONE, status: 'partial', remaining: ['rest'] }),
          ),
        ),
    });
    const result = await neo.result(await neo.send(dispatching({}, { deadline: inSoon(150) })));
    assert.deepEqual([result.status, result.remaining], ['partial', ['rest']]);
  });
});

describe('stop and recovery', () => {
  const checkpointing: Script = async (task, context) => {
    if (context.checkpoint.load() === undefined) {
      await context.checkpoint.save({ step: 1 });
      await context.report({ type: 'progress', data: { step: 1 } });
      return untilAborted(task, context);
    }
    return { ...DONE, text: `went on from ${JSON.stringify(context.checkpoint.load())}` };
  };

  it('refuses new work, leaves running and waiting tasks to the next start, which finishes them', async (t) => {
    const neo = await profile(t, { script: checkpointing });
    const running = await neo.send({ ...dispatching(), contextId: 'c' });
    const waiting = await neo.send({ ...dispatching(), contextId: 'c' });
    await neo.event(running, 'progress');
    await neo.gateway.stop(5_000);
    assert.equal(neo.gateway.activeTasks(), 0);
    await assert.rejects(
      neo.send(dispatching()),
      (error) => code('SHUTTING_DOWN')(error) && error instanceof FleetError && error.retryable,
    );
    assert.equal(neo.gateway.announce().ready, false);
    assert.deepEqual([neo.task(running).state, neo.task(waiting).state], ['working', 'queued']);
    await neo.crash();
    await neo.restart();
    assert.equal((await neo.result(running)).text, 'went on from {"step":1}');
    assert.deepEqual(neo.events(running), [
      'submitted',
      'queued',
      'started',
      'progress',
      'resumed',
      'started',
      'done',
    ]);
    assert.equal(neo.task(running).resumes, 1);
    assert.equal(neo.task(waiting).resumes, 0);
    await neo.event(waiting, 'progress');
  });

  it('takes up after a crash what was accepted but not yet admitted', async (t) => {
    const neo = await profile(t);
    const raw = { messageId: 'm' };
    const dispatch = { type: 'TASK_DISPATCH', protocol_version: '2.0', task: { task_id: 'k' }, brief: 'b' };
    const { task } = await neo.ledger.accept({
      ...{
        id: 'id-1',
        contextId: 'c',
        caller: 'operator',
        key: 'k',
        fingerprint: 'f',
        message: raw,
        dispatch,
      },
    });
    await neo.crash();
    await neo.restart();
    assert.equal((await neo.result(task.id)).status, 'done');
  });

  it('gives up on a task that was interrupted too often', async (t) => {
    const neo = await profile(t, { script: untilAborted, fleet: { limits: { max_resumes: 1 } } });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    for (const starts of [2, 0]) {
      await neo.gateway.stop(5_000);
      await neo.crash();
      await neo.restart();
      if (starts > 0) await neo.event(id, 'started', starts);
    }
    const result = await neo.result(id);
    assert.deepEqual([result.status, result.error?.code], ['error', 'max_resumes']);
  });

  it('ends an interrupted task whose deadline passed meanwhile, once', async (t) => {
    const neo = await profile(t, { script: untilAborted });
    const deadline = inSoon(400);
    const id = await neo.send(dispatching({}, { deadline }));
    await neo.event(id, 'started');
    await neo.gateway.stop(5_000);
    await neo.crash();
    await systemClock.sleep(Date.parse(deadline) - Date.now() + 1);
    await neo.restart();
    const result = await neo.result(id);
    assert.deepEqual([result.status, result.error?.code], ['error', 'deadline_exceeded']);
    assert.equal(neo.events(id).filter((type) => type === 'error').length, 1);
  });

  it('waits no longer than the grace for an executor that does not listen', async (t) => {
    const gate = Promise.withResolvers<void>();
    const neo = await profile(t, { script: () => gate.promise.then(() => DONE) });
    const id = await neo.send(dispatching());
    await neo.event(id, 'started');
    await neo.gateway.stop(50);
    assert.equal(neo.task(id).state, 'working');
    gate.resolve();
  });
});
