import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort } from '@hermes-fleet/gateway/testing';
import { deadline, type Share, sweepCrashes, tempDir } from '@hermes-fleet/protocol/testing';
import type { BlockedDocument } from '../src/http/blocked.ts';
import type { SpendingDocument } from '../src/http/spending.ts';
import type { StatusDocument } from '../src/http/status.ts';
import type { TasksDocument } from '../src/http/task-list.ts';
import { LOGIN_SECRET, startBus } from './console.ts';
import { eventMaker, publish, STARTED_AT } from './events.ts';
import { runConsole } from './process.ts';

export const TASKS = 600;
const TOKENS = 7;
const RANGE = `since=${new Date(STARTED_AT).toISOString()}&until=${new Date(STARTED_AT + 3_600_000).toISOString()}`;

/** The events of tasks that each spend some tokens, in two steps. */
export function traffic() {
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
export async function crashing(t: TestContext) {
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

export const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

/** Registers the test of a console whose process is killed while it reads, at several shares of the events. */
export function testConsoleCrashes(share: Share): void {
  test('a console that is killed at any moment counts each event once', deadline, async (t) => {
    const { nats, start, signIn, assertWhole } = await crashing(t);
    const publishing = publish(nats.url, traffic());
    await sweepCrashes(t, {
      share,
      start: () => [0.02, 0.3, 0.6],
      async act(part) {
        const child = await start();
        const json = await signIn();
        while ((await json<TasksDocument>('/api/tasks?state=done')).total < TASKS * part) await pause();
        child.kill('SIGKILL');
        await once(child, 'exit');
      },
      check: () => undefined,
    });
    await publishing;
    await start();
    await assertWhole(await signIn());
  });
}
