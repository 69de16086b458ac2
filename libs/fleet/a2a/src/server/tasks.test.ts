import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { finish } from '../../testing/script.ts';
import { at, dispatchMessage, message, OTHER_TOKEN, type Served, serve } from '../../testing/serve.ts';

const QUICK = { configuration: { returnImmediately: true } };

async function begin(served: Served, text = 'hi', token?: string): Promise<string> {
  const answer = await served.rpc('SendMessage', { ...message(text), ...QUICK }, token ? { token } : {});
  return String(at(answer.body, 'result', 'task', 'id'));
}

interface Ending {
  readonly status: 'done' | 'partial' | 'blocked' | 'error';
  readonly more: JsonObject;
  readonly state: string;
  readonly says: string | undefined;
}

const ENDINGS: readonly Ending[] = [
  { status: 'done', more: {}, state: 'TASK_STATE_COMPLETED', says: undefined },
  {
    status: 'partial',
    more: { remaining: ['tests', 'docs'] },
    state: 'TASK_STATE_COMPLETED',
    says: 'partial; remaining: tests; docs',
  },
  {
    status: 'blocked',
    more: { blocked_reason: 'required MCP server "nope" is not configured' },
    state: 'TASK_STATE_REJECTED',
    says: 'required MCP server "nope" is not configured',
  },
  {
    status: 'error',
    more: { error: { code: 'model_failed', message: 'the model failed', retryable: true } },
    state: 'TASK_STATE_FAILED',
    says: 'the model failed',
  },
];

test('every result has its A2A state and its reason as the status message', async (t) => {
  for (const { status, more, state, says } of ENDINGS) {
    const served = await serve(t, { script: (id) => finish(served.ledger, id, status, more) });
    const { body } = await served.rpc('SendMessage', dispatchMessage('a'));
    assert.equal(at(body, 'result', 'task', 'status', 'state'), state, status);
    assert.equal(at(body, 'result', 'task', 'status', 'message', 'parts', 0, 'text'), says, status);
    assert.equal(at(body, 'result', 'task', 'artifacts', 0, 'parts', 0, 'data', 'status'), status);
    assert.match(
      String(at(body, 'result', 'task', 'artifacts', 1, 'parts', 0, 'text')),
      new RegExp(`^${status}`),
    );
  }
});

test('CancelTask ends a task as CANCELED; an ended one is -32002, a foreign or unknown one -32001', async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const id = await begin(served);
  const codeOf = async (id: string, token?: string): Promise<unknown> =>
    at((await served.rpc('CancelTask', { id }, token ? { token } : {})).body, 'error', 'code');
  assert.equal(await codeOf(id, OTHER_TOKEN), -32001);
  assert.equal(await codeOf('unknown'), -32001);
  const { body } = await served.rpc('CancelTask', { id });
  assert.equal(at(body, 'result', 'status', 'state'), 'TASK_STATE_CANCELED');
  assert.equal(await codeOf(id), -32002);
});

test("the answer for another caller's task is identical to that for an unknown one, but for the id", async (t) => {
  const served = await serve(t);
  const id = await begin(served);
  const foreign = await served.rpc('GetTask', { id }, { token: OTHER_TOKEN });
  const unknown = await served.rpc('GetTask', { id: 'nobody' }, { token: OTHER_TOKEN });
  assert.equal(foreign.text.replaceAll(id, 'nobody'), unknown.text);
  assert.equal(at(foreign.body, 'error', 'code'), -32001);
  const list = await served.rpc('ListTasks', {}, { token: OTHER_TOKEN });
  assert.equal(at(list.body, 'result', 'totalSize'), 0);
});

test('ListTasks always has tasks, nextPageToken, pageSize and totalSize', async (t) => {
  const served = await serve(t);
  const { body } = await served.rpc('ListTasks');
  assert.deepEqual(body.result, { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
});

test('ListTasks pages, filters, and shows artifacts and history only on request', async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await begin(served, `task ${n}`));
  await finish(served.ledger, ids[0] ?? '');

  const seen: unknown[] = [];
  let pageToken = '';
  let pages = 0;
  do {
    const { body } = await served.rpc('ListTasks', {
      pageSize: 2,
      ...(pageToken ? { page_token: pageToken } : {}),
    });
    const tasks = at(body, 'result', 'tasks');
    assert.ok(Array.isArray(tasks));
    assert.equal(at(body, 'result', 'totalSize'), 5);
    for (const task of tasks) {
      assert.ok(isJsonObject(task));
      assert.equal(task.artifacts, undefined);
      assert.equal(task.history, undefined);
      seen.push(task.id);
    }
    pageToken = String(at(body, 'result', 'nextPageToken'));
    pages += 1;
  } while (pageToken !== '');
  assert.equal(pages, 3);
  assert.deepEqual(seen.toSorted(), ids.toSorted());

  const done = await served.rpc('ListTasks', {
    status: 'TASK_STATE_COMPLETED',
    includeArtifacts: true,
    historyLength: 5,
  });
  assert.equal(at(done.body, 'result', 'tasks', 0, 'id'), ids[0]);
  assert.equal(at(done.body, 'result', 'tasks', 0, 'artifacts', 0, 'name'), 'task-result');
  assert.equal(at(done.body, 'result', 'tasks', 0, 'history', 0, 'parts', 0, 'text'), 'task 0');
  const open = await served.rpc('ListTasks', { status: 'TASK_STATE_SUBMITTED', includeArtifacts: true });
  assert.equal(at(open.body, 'result', 'totalSize'), 4);
  assert.deepEqual(at(open.body, 'result', 'tasks', 0, 'artifacts'), []);
  const never = await served.rpc('ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' });
  assert.deepEqual(at(never.body, 'result', 'tasks'), []);
  const later = new Date(Date.now() + 60_000).toISOString();
  const after = await served.rpc('ListTasks', { statusTimestampAfter: later });
  assert.equal(at(after.body, 'result', 'totalSize'), 0);
  const contextId = served.ledger.get(ids[2] ?? '')?.contextId ?? '';
  const context = await served.rpc('ListTasks', { contextId });
  assert.equal(at(context.body, 'result', 'tasks', 0, 'id'), ids[2]);
});

test('one thousand parallel GetTask are all answered', async (t) => {
  const served = await serve(t);
  const id = await begin(served);
  const answers = await Promise.all(Array.from({ length: 1000 }, () => served.rpc('GetTask', { id })));
  assert.ok(answers.every(({ status, body }) => status === 200 && at(body, 'result', 'id') === id));
});

test('A2A 0.3: send, get and cancel work by their 0.3 names', async (t) => {
  const served = await serve(t, {
    script: async (id, { text }) => (text === 'go' ? finish(served.ledger, id) : undefined),
  });
  const send = (text: string, blocking: boolean): Promise<{ body: JsonObject }> =>
    served.rpc('message/send', {
      message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text }] },
      configuration: { blocking },
    });
  const done = await send('go', true);
  assert.equal(at(done.body, 'result', 'kind'), 'task');
  assert.equal(at(done.body, 'result', 'status', 'state'), 'completed');
  assert.equal(at(done.body, 'result', 'artifacts', 0, 'parts', 0, 'data', 'type'), 'TASK_RESULT');
  const open = await send('wait', false);
  const id = String(at(open.body, 'result', 'id'));
  assert.equal(at((await served.rpc('tasks/get', { id })).body, 'result', 'status', 'state'), 'submitted');
  assert.equal(at((await served.rpc('tasks/cancel', { id })).body, 'result', 'status', 'state'), 'canceled');
});
