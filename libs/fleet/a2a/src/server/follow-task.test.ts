import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../../testing/script.ts';
import { at, message, serve } from '../../testing/serve.ts';
import { followTask } from './follow-task.ts';
import { requireTask } from './read-tasks.ts';

const LONG = 'x'.repeat(100_000);

test('an update with a long text or result is sent in a turn, and a short one at once', async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const { ledger } = served;
  const begin = async (): Promise<string> => {
    const configuration = { returnImmediately: true };
    const { body } = await served.rpc('SendMessage', { ...message('go'), configuration });
    const id = String(at(body, 'result', 'task', 'id'));
    await ledger.append(id, { type: 'started', data: {} });
    return id;
  };
  /** Returns the updates that a stream of the task sends, and the turns that it takes. */
  const streamed = async (id: string, isResumed = false): Promise<string> => {
    const seen: string[] = [];
    const takeTurn = async (): Promise<Disposable> => {
      seen.push('(');
      return { [Symbol.dispose]: () => void seen.push(')') };
    };
    const record = requireTask(ledger, id);
    const shape = { metadata: undefined, untilAsked: false, hasHandshake: () => true, urlOf: () => '' };
    const { signal } = new AbortController();
    const afterSeq = (isResumed ? ledger.events(id, 0, 1)[0]?.seq : undefined) ?? record.lastSeq;
    for await (const { response } of followTask({
      ledger,
      record,
      afterSeq,
      signal,
      ...shape,
      isResumed,
      takeTurn,
    }))
      seen.push(response.payload?.$case ?? '?');
    return seen.join(' ');
  };
  const short = await begin();
  await ledger.append(short, { type: 'text', data: { text: 'one' } });
  await finish(ledger, short, 'done', { text: 'two', output: { three: 4 } });
  const updates = 'task statusUpdate artifactUpdate artifactUpdate artifactUpdate statusUpdate';
  assert.equal(await streamed(short, true), updates);
  assert.equal(await streamed(short), 'task');

  const long = await begin();
  await ledger.append(long, { type: 'text', data: { text: LONG } });
  await finish(ledger, long, 'done', { text: LONG });
  const inTurns = 'task statusUpdate ( artifactUpdate ) ( artifactUpdate artifactUpdate statusUpdate )';
  assert.equal(await streamed(long, true), inTurns);
  assert.equal(await streamed(long), '( task )');

  const output = await begin();
  await finish(ledger, output, 'done', { text: 'see the output', output: { long: LONG } });
  assert.equal(await streamed(output), '( task )');
});
