import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { deadline } from '@hermes-fleet/protocol/testing';
import { crashing, pause, TASKS, traffic } from '../testing/crash-sweep.ts';
import { publish } from '../testing/events.ts';
import type { TasksDocument } from './http/task-list.ts';

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
