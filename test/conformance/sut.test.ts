import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TaskState } from '@a2a-js/sdk';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT, runProgram, until } from '../support/fleet.ts';
import { freeOffset } from '../support/ports.ts';
import { request, stockClient } from '../support/stock-client.ts';

const SUT = join(ROOT, 'test/conformance/sut.ts');

test('the profile for the compatibility kit does what the prefix of a message id says, until it is stopped', async (t) => {
  const port = 9219 + (await freeOffset());
  let stop = async (): Promise<void> => undefined;
  const dir = tempDir(t, { closeFirst: () => stop() });
  const program = spawn(process.execPath, [SUT, '--port', String(port)], {
    env: { ...process.env, TMPDIR: dir },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(program, 'exit');
  stop = async () => {
    program.kill('SIGKILL');
    await ended;
  };
  const url = `http://127.0.0.1:${port}`;
  await until(
    async () => (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200,
    'it to be ready',
  );
  const client = await stockClient({ url, token: 'none-is-needed' });
  const message = (id: string) => {
    const asked = request('a text of the kit');
    return { ...asked, message: asked.message && { ...asked.message, messageId: `${id}-1` } };
  };
  const taskOf = async (id: string) => {
    const task = await client.sendMessage(message(id));
    assert.ok('status' in task, `${id} is no task`);
    return task;
  };

  const done = await taskOf('tck-complete-task');
  assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED);
  assert.equal(done.artifacts[1]?.parts[0]?.content?.value, 'Hello from TCK');
  const contents = {
    'tck-artifact-text': { $case: 'text', value: 'Generated text content' },
    'tck-artifact-file': { $case: 'raw', value: Buffer.from('tck') },
    'tck-artifact-file-url': { $case: 'url', value: 'https://example.com/output.txt' },
    'tck-artifact-data': { $case: 'data', value: { key: 'value', count: 42 } },
  };
  for (const [id, content] of Object.entries(contents)) {
    const { artifacts } = await taskOf(id);
    assert.deepEqual(artifacts[0]?.parts[0]?.content, content, id);
    assert.equal(artifacts[1]?.name, 'task-result', 'it comes after those of the executor');
  }
  const answer = await client.sendMessage(message('tck-message-response'));
  assert.ok('parts' in answer);
  assert.equal(answer.parts[0]?.content?.value, 'Direct message response');
  const rejected = await taskOf('tck-reject-task');
  assert.equal(rejected.status?.state, TaskState.TASK_STATE_REJECTED);
  const asking = await taskOf('tck-input-required');
  assert.equal(asking.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED);
  const canceled = await client.cancelTask({ tenant: '', id: asking.id, metadata: undefined });
  assert.equal(canceled.status?.state, TaskState.TASK_STATE_CANCELED);
  assert.equal((await taskOf('unknown')).status?.state, TaskState.TASK_STATE_COMPLETED);

  const { capabilities } = await client.getAgentCard();
  assert.deepEqual([capabilities?.streaming, capabilities?.pushNotifications], [true, true]);
  for (const [id, ...expected] of [
    ['tck-stream-artifact-chunked', 'chunk-1 ', 'chunk-2'],
    ['tck-stream-001', 'Stream hello from TCK'],
    ['tck-stream-002'],
    ['tck-stream-003', 'Stream task lifecycle'],
    ['tck-stream-ordering-001', 'Ordered output'],
  ] as const) {
    const chunks: unknown[] = [];
    let last: TaskState | undefined;
    for await (const { payload } of client.sendMessageStream(message(id))) {
      if (payload?.$case === 'artifactUpdate' && payload.value.artifact?.artifactId === 'output')
        chunks.push(payload.value.artifact?.parts[0]?.content?.value);
      if (payload?.$case === 'statusUpdate') last = payload.value.status?.state;
    }
    assert.deepEqual(chunks, expected, id);
    assert.equal(last, TaskState.TASK_STATE_COMPLETED, id);
  }

  program.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual(globSync('hermes-conformance-*', { cwd: dir }), []);
});

test('without a port it says how to give one, and starts nothing', async () => {
  const { code, stderr } = await runProgram(process.execPath, [SUT, '--port', '0']);
  assert.equal(code, 1);
  assert.match(stderr, /--port must be a port.*node test\/conformance\/sut\.ts --port 9999/);
});
