import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Task, TaskState } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { type Fleet, readEvents, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';
import { request, stockClient } from '../support/stock-client.ts';

/** A brief that asks, and then writes down that it went on. */
const BRIEF = [
  'Paint the room that your caller names.',
  '',
  '```tool ask_caller',
  '{"question": "Which room?"}',
  '```',
  '',
  '```sh',
  'echo painted >> painted.txt',
  'cat painted.txt',
  '```',
].join('\n');

const hints = (...lines: string[]): string =>
  ['TASK DISPATCH (inline)', ...lines, `Brief: ${BRIEF}`].join('\n');

async function say(client: Client, text: string, task?: Task): Promise<Task> {
  const sent = request(text);
  if (task && sent.message) sent.message.taskId = task.id;
  const reply = await client.sendMessage(sent);
  assert.ok('status' in reply, JSON.stringify(reply));
  return reply;
}

function questionOf({ status }: Task): unknown {
  assert.equal(status?.state, TaskState.TASK_STATE_INPUT_REQUIRED, JSON.stringify(status));
  return status?.message?.parts[0]?.content?.value;
}

const textOf = ({ artifacts }: Task): string =>
  artifacts
    .flatMap(({ parts }) => parts)
    .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
    .join('\n');

const typesOf = (fleet: Fleet, profile: string): string[] =>
  readLedgerFile(join(fleet.dir, 'state', profile, 'ledger.db')).events.map(({ type }) => type);

test("a worker's question reaches a stock client through switch, and its answer the worker, whatever dies meanwhile", async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  const client = await stockClient({ ...fleet.target('switch'), token: fleet.operatorToken });
  const before = await fleet.metrics('neo');
  const asked = await say(client, hints('priority: low', 'required_capabilities: [terminal]'));
  assert.equal(questionOf(asked), 'Which room?');
  assert.match(await fleet.metrics('switch'), /^fleet_queue_depth\{queue="input"\} 1$/m);
  assert.match(await fleet.metrics('neo'), /^fleet_queue_depth\{queue="input"\} 1$/m, 'low goes to neo');
  assert.match(await fleet.metrics('neo'), /^fleet_tasks_in_flight 0$/m);

  await t.test('the worker is killed, and switch is stopped: both wait on', async () => {
    const spent = tokens(await fleet.metrics('neo'));
    assert.ok(spent > tokens(before));
    await fleet.kill('neo');
    await fleet.terminate('switch');
    await fleet.up();
    assert.equal(questionOf(await client.getTask({ tenant: '', id: asked.id })), 'Which room?');
    assert.match(await fleet.metrics('neo'), /^fleet_queue_depth\{queue="input"\} 1$/m);
    assert.equal(tokens(await fleet.metrics('neo')), spent, 'a start spends nothing on it');
    assert.match(await fleet.metrics('neo'), /^fleet_resumes_total 0$/m);
  });

  await t.test('the answer has the work done, once', async () => {
    const done = await say(client, 'The blue one.', asked);
    assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED, JSON.stringify(done.status));
    assert.match(textOf(done), /The caller answers:\s+The blue one\.[\s\S]*painted/);
    assert.doesNotMatch(textOf(done), /painted\s+painted/, 'painted once');
    for (const profile of ['switch', 'neo']) {
      const types = typesOf(fleet, profile).filter((type) => type !== 'progress');
      const count = (wanted: string): number => types.filter((type) => type === wanted).length;
      const counts = ['submitted', 'input_required', 'answered', 'done', 'resumed'].map(count);
      assert.deepEqual(counts, [1, 1, 1, 1, 0], `${profile}: ${types.join()}`);
    }
    const said = done.history.map(({ parts }) => parts[0]?.content?.value);
    assert.deepEqual(said.slice(1), ['Which room?', 'The blue one.']);
  });

  await t.test('the bus has heard that it asked, and not what', async () => {
    const isDone = ({ subject, type }: { subject: string; type: string }): boolean =>
      subject === asked.id && type.endsWith('.done.v1');
    const events = await readEvents(fleet, (all) => all.some(isDone));
    const mine = events
      .filter(({ subject }) => subject === asked.id)
      .map(({ type }) => type.split('.').at(-2));
    assert.deepEqual(
      mine.filter((type) => type === 'input_required' || type === 'answered'),
      ['input_required', 'answered'],
    );
    assert.doesNotMatch(JSON.stringify(events), /Which room|blue/);
  });
});

const tokens = (metrics: string): number =>
  [...metrics.matchAll(/^fleet_tokens_spent_total\{[^}]*\} (\S+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );

test('what waits for an answer can be canceled at switch, and ends at the worker too', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  const sent = dispatch({ brief: BRIEF, routing: { target: 'neo' } });
  const { body } = await call(fleet.target('switch'), 'SendMessage', message(sent));
  const { id, status } = body.result.task;
  assert.equal(status.state, 'TASK_STATE_INPUT_REQUIRED');
  await fleet.kill('switch');
  await fleet.up();
  const canceled = (await call(fleet.target('switch'), 'CancelTask', { id })).body.result;
  assert.equal(canceled.status.state, 'TASK_STATE_CANCELED');
  assert.equal(resultOf(canceled).error.code, 'canceled');
  await until(() => typesOf(fleet, 'neo').at(-1) === 'canceled', 'the task of neo to be canceled');
  const late = {
    message: { messageId: randomUUID(), taskId: id, role: 'ROLE_USER', parts: [{ text: 'Blue.' }] },
  };
  assert.equal((await call(fleet.target('switch'), 'SendMessage', late)).body.error.code, -32004);
});
