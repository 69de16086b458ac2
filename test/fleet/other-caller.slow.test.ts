import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectMcp } from '@hermes-fleet/mcp/testing';
import { startWebhook } from '../../libs/fleet/a2a/testing/webhook.ts';
import { tool } from '../support/agent-work.ts';
import { ROOT, runProgram } from '../support/fleet.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from '../support/rpc.ts';

const OTHER_TOKEN = 'token-of-the-test-as-other-0123456789';
const UNKNOWN = '01a00000-0000-7000-8000-000000000000';

/** A way by which a caller asks for a task: what it answers, as text. */
type Way = (id: string, contextId: string) => Promise<string>;

test('by no way does a caller see or change a task of another one, and unknown looks the same', {
  timeout: 180_000,
}, async (t) => {
  const hook = await startWebhook(t, (response) => response.writeHead(200).end());
  const profile = await startProfile(t, {
    name: 'neo',
    fleet: { push: { allow_internal: ['127.0.0.1'] } },
    callers: { other: { token_env: 'OTHER_TOKEN', scopes: ['dispatch', 'read'] } },
    env: { OTHER_TOKEN },
  });
  const other = { url: profile.url, token: OTHER_TOKEN };
  const done = await run(profile, {
    ...message(
      dispatch({ taskId: 'done-1', brief: runbook('secret.txt', 'kept-from-others', 'cat secret.txt') }),
    ),
    configuration: { taskPushNotificationConfig: { id: 'own', url: hook.url } },
  });
  const brief = `${tool('ask_caller', { question: 'kept-from-others?' })}\n\n${runbook('a.txt', 'x', 'cat a.txt')}`;
  const asking = await run(profile, message(dispatch({ taskId: 'asking-1', brief })));
  assert.deepEqual([stateOf(done), stateOf(asking)], ['TASK_STATE_COMPLETED', 'TASK_STATE_INPUT_REQUIRED']);

  const ways = {
    ...a2aWays(other, hook.url),
    ...(await mcpWays(t, other)),
    ...cliWays(other),
    ...httpWays(other),
  };
  for (const [name, way] of Object.entries(ways))
    await t.test(name, async () => {
      const unknown = await way(UNKNOWN, UNKNOWN);
      for (const { id, contextId } of [done, asking]) {
        const answer = await way(id, contextId);
        assert.equal(masked(answer, [id, contextId]), masked(unknown, [UNKNOWN]));
        assert.doesNotMatch(answer, /kept-from-others|done-1|asking-1/);
      }
    });

  await t.test('the tasks of the first caller are as they were, and go on', async () => {
    const { body: listed } = await call(profile, 'ListTaskPushNotificationConfigs', { taskId: done.id });
    assert.deepEqual(
      listed.result.configs.map((config: { id: string }) => config.id),
      ['own'],
    );
    const { body: still } = await call(profile, 'GetTask', { id: asking.id });
    assert.equal(stateOf(still.result), 'TASK_STATE_INPUT_REQUIRED');
    const answer = {
      messageId: 'answer-1',
      role: 'ROLE_USER',
      taskId: asking.id,
      parts: [{ text: 'Go on.' }],
    };
    const { body } = await call(profile, 'SendMessage', { message: answer });
    assert.equal(resultOf(body.result.task).status, 'done', JSON.stringify(body));
    assert.ok(
      hook.received.some(({ body: sent }) => JSON.stringify(sent).includes(done.id)),
      'its push came',
    );
    assert.doesNotMatch(JSON.stringify(hook.received), /of-the-other/);
  });
});

/** JSON-RPC in both versions of A2A. */
function a2aWays(other: Target, hook: string): Record<string, Way> {
  const config = { id: 'own', url: hook, token: 'of-the-other' };
  const text = (id: string) => ({
    messageId: `m-${id}`,
    role: 'ROLE_USER',
    taskId: id,
    parts: [{ text: 'Yes.' }],
  });
  const methods: Record<string, (id: string) => Record<string, unknown>> = {
    GetTask: (id) => ({ id }),
    CancelTask: (id) => ({ id }),
    SubscribeToTask: (id) => ({ id }),
    SendMessage: (id) => ({ message: text(id) }),
    SendStreamingMessage: (id) => ({ message: text(id) }),
    CreateTaskPushNotificationConfig: (id) => ({ taskId: id, ...config }),
    GetTaskPushNotificationConfig: (id) => ({ taskId: id, id: 'own' }),
    ListTaskPushNotificationConfigs: (id) => ({ taskId: id }),
    DeleteTaskPushNotificationConfig: (id) => ({ taskId: id, id: 'own' }),
    'tasks/get': (id) => ({ id }),
    'tasks/cancel': (id) => ({ id }),
    'tasks/resubscribe': (id) => ({ id }),
    'message/send': (id) => ({
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        taskId: id,
        parts: [{ kind: 'text', text: 'Yes.' }],
      },
    }),
    'tasks/pushNotificationConfig/set': (id) => ({ taskId: id, pushNotificationConfig: config }),
    'tasks/pushNotificationConfig/get': (id) => ({ id, pushNotificationConfigId: 'own' }),
    'tasks/pushNotificationConfig/list': (id) => ({ id }),
    'tasks/pushNotificationConfig/delete': (id) => ({ id, pushNotificationConfigId: 'own' }),
  };
  const asked = Object.entries(methods).map(([method, params]): [string, Way] => [
    method,
    async (id) => {
      const { body } = await call(other, method, params(id));
      assert.equal(body.error?.code, -32001, JSON.stringify(body));
      return JSON.stringify(body);
    },
  ]);
  const list: Way = async (_id, contextId) =>
    JSON.stringify((await call(other, 'ListTasks', { contextId })).body);
  const listAll: Way = async () => JSON.stringify((await call(other, 'ListTasks', {})).body);
  return { ...Object.fromEntries(asked), 'ListTasks of a context': list, 'ListTasks of all': listAll };
}

/** The tools and resources of `/mcp`. */
async function mcpWays(t: TestContext, { url, token = '' }: Target): Promise<Record<string, Way>> {
  const client = await connectMcp(t, url, { token });
  const used =
    (name: string, input: (id: string, contextId: string) => Record<string, unknown>): Way =>
    async (id, contextId) =>
      JSON.stringify(await client.callTool({ name, arguments: input(id, contextId) }));
  const read =
    (path: string): Way =>
    async (id) =>
      await client.readResource({ uri: `fleet://tasks/${id}/${path}` }).then(
        (found) => assert.fail(JSON.stringify(found)),
        (error: Error) => error.message,
      );
  const unknown =
    (name: string, more = {}): Way =>
    async (id) => {
      const answer = await used(name, () => ({ id, ...more }))(id, '');
      assert.match(answer, /TASK_NOT_FOUND/);
      return answer;
    };
  return {
    fleet_task: unknown('fleet_task'),
    fleet_cancel: unknown('fleet_cancel'),
    fleet_answer: unknown('fleet_answer', { question: 1, text: 'Yes.' }),
    'fleet_tasks of a context': used('fleet_tasks', (_id, contextId) => ({ context_id: contextId })),
    'fleet_tasks of all': used('fleet_tasks', () => ({})),
    'resource result': read('result'),
    'resource events': read('events'),
    'resource artifacts': read('artifacts/task-result'),
    'resources of all': async () => JSON.stringify(await client.listResources()),
  };
}

/** The command line, which talks to a profile by its address. */
function cliWays({ url, token = '' }: Target): Record<string, Way> {
  const ways = [['task'], ['watch'], ['cancel'], ['answer', 'Yes.']].map(
    ([command = '', ...more]): [string, Way] => [
      `fleet ${command}`,
      async (id) => {
        const words = [command, id, ...more, '--url', url, '--token-env', 'OTHER_TOKEN'];
        const program = [join(ROOT, 'libs/cli/src/main.ts'), ...words];
        const env = { ...process.env, OTHER_TOKEN: token };
        const { code, stdout, stderr } = await runProgram(process.execPath, program, { env });
        assert.equal(code, 1, stdout + stderr);
        return stdout + stderr;
      },
    ],
  );
  return Object.fromEntries(ways);
}

/** The routes of the fleet. */
function httpWays({ url, token }: Target): Record<string, Way> {
  const ask = async (method: string, path: string): Promise<string> => {
    const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
    return `${response.status} ${await response.text()}`;
  };
  return {
    'cost of a task': (id) => ask('GET', `/fleet/tasks/${id}/cost`),
    'deletion of a context': (_id, contextId) => ask('DELETE', `/fleet/contexts/${contextId}`),
  };
}

interface Sent {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
}

async function run(profile: LoneProfile, params: Record<string, unknown>): Promise<Sent> {
  const { body } = await call(profile, 'SendMessage', params);
  return body.result.task;
}

const stateOf = ({ status }: Sent): string => status.state;

/** A text without the ids that were asked for. */
const masked = (text: string, ids: readonly string[]): string =>
  ids.reduce((left, id) => left.replaceAll(id, '<id>'), text);
