import assert from 'node:assert/strict';
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '@hermes-fleet/fleet/testing';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import type { BlockedDocument, SpendingDocument, StatusDocument, TasksDocument } from './http/api.ts';
import { LOGIN_SECRET, startBus } from './testing/console.ts';
import { eventMaker, publish, STARTED_AT } from './testing/events.ts';
import { runConsole } from './testing/process.ts';

const TASKS = 600;
const TOKENS = 7;
const RANGE = `since=${new Date(STARTED_AT).toISOString()}&until=${new Date(STARTED_AT + 3_600_000).toISOString()}`;

/** The events of tasks that each spend some tokens, in two steps. */
function traffic() {
  const neo = eventMaker('neo');
  const usage = { input_tokens: TOKENS, output_tokens: 0 };
  return Array.from({ length: TASKS }, (_, at) => at).flatMap((at) => {
    const task = { id: `t${at}` };
    return [
      neo('submitted', task),
      neo('progress', task, { step: 1, usage, model: 'small' }),
      neo('done', task, {
        tokens_spent: TOKENS,
        own_tokens: TOKENS,
        usage,
        executed_by: 'neo',
        model: 'small',
      }),
    ];
  });
}

/** A console as a process on a bus with the traffic, which `start` starts again. */
async function crashing(t: TestContext) {
  const nats = await startBus(t);
  let last: ChildProcess | undefined;
  const dir = tempDir(t, { closeFirst: () => last?.kill('SIGKILL') });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...{ HERMES_STATE_DIR: dir, CONSOLE_LOGIN: LOGIN_SECRET, CONSOLE_PORT: String(port) },
    ...{ NATS_HOST: '127.0.0.1', NATS_PORT: new URL(nats.url).port },
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(dir, 'cache'),
  };
  const start = async (wrapper?: readonly string[]): Promise<ChildProcess> => {
    const started = runConsole(env, wrapper);
    last = started.child;
    await started.saw('connected to the event bus');
    return started.child;
  };
  const signIn = async (): Promise<<T>(path: string) => Promise<T>> => {
    const headers = { authorization: `Bearer ${LOGIN_SECRET}` };
    const made = await fetch(`${url}/api/codes`, { method: 'POST', headers });
    const { path } = (await made.json()) as { path: string };
    const opened = await fetch(`${url}${path}`, { redirect: 'manual' });
    const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    return async (asked) => (await (await fetch(`${url}${asked}`, { headers: { cookie } })).json()) as never;
  };
  /** Waits for all events, and asserts that each has counted once. */
  const assertWhole = async (json: <T>(path: string) => Promise<T>): Promise<void> => {
    while ((await json<TasksDocument>('/api/tasks?state=done')).total < TASKS) await pause();
    const { totals } = await json<SpendingDocument>(`/api/spending?${RANGE}`);
    assert.deepEqual(
      totals.map(({ key, tasks, tokens }) => [key, tasks, tokens]),
      [['neo', TASKS, TASKS * TOKENS]],
    );
    assert.equal((await json<BlockedDocument>(`/api/blocked?${RANGE}`)).ended, TASKS);
    assert.equal((await json<StatusDocument>('/api/status')).skipped, 0);
  };
  return { nats, url, start, signIn, assertWhole };
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

test('a console that is killed at any moment counts each event once', deadline, async (t) => {
  const { nats, start, signIn, assertWhole } = await crashing(t);
  const events = traffic();
  const publishing = publish(nats.url, events);
  for (const share of [0.02, 0.3, 0.6]) {
    const child = await start();
    const json = await signIn();
    while ((await json<TasksDocument>('/api/tasks?state=done')).total < TASKS * share) await pause();
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await publishing;
  await start();
  await assertWhole(await signIn());
});

test(
  'a full disk stops the reading and nothing else, and nothing is missed after its repair',
  deadline,
  async (t) => {
    const { nats, url, start, signIn, assertWhole } = await crashing(t);
    // No file of the process may grow beyond this: its disk is full as far as it can tell.
    const child = await start(['bash', '-c', 'ulimit -S -f 300; exec "$@"', 'bash']);
    const json = await signIn();
    await publish(nats.url, traffic());
    while ((await fetch(`${url}/ready`)).status !== 503) await pause();
    const { total } = await json<TasksDocument>('/api/tasks?state=done');
    assert.ok(total < TASKS, 'the views show what is known');
    await promisify(execFile)('prlimit', ['--pid', String(child.pid), '--fsize=unlimited:unlimited']);
    await assertWhole(json);
    assert.equal((await fetch(`${url}/ready`)).status, 200);
  },
);
