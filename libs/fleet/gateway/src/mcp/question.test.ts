import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '@hermes-fleet/mcp/testing';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { serveMcp } from '../../testing/mcp-fleet.ts';
import { profile } from '../../testing/profile.ts';
import { asking, DONE } from '../../testing/scripts.ts';

/** A call that is not answered fails long before its own wait is over. */
const WAIT = { wait_s: 240 };
const DEADLINE = { timeout: 30_000 };

const AFTER: readonly RunEvent[] = [
  { type: 'text', text: 'still here' },
  { type: 'progress', data: { step: 2, tool: 'terminal', phase: 'started' } },
];

for (const after of AFTER)
  test(`a question is returned at once when a ${after.type} event comes after it`, async (t) => {
    const reported = Promise.withResolvers<void>();
    const one = await profile(t, {
      script: async (task, { ask, reportEvent }) => {
        const answer = ask('which?', { key: 'q' });
        answer.catch(() => undefined);
        await one.event(task.id, 'input_required');
        await reportEvent(after);
        reported.resolve();
        return { ...DONE, text: await answer };
      },
    });
    const { connect } = await serveMcp(t, one);
    const client = await connect();
    const lines: string[] = [];
    const onprogress = ({ message = '' }: { message?: string }): unknown => lines.push(message);
    const input = { brief: 'x', task_id: 'mine', ...WAIT };
    for (const isFirst of [true, false]) {
      const asked = await callTool(client, 'fleet_dispatch', input, { onprogress, ...DEADLINE });
      assert.deepEqual([asked.state, asked.question], ['input_required', { number: 1, text: 'which?' }]);
      assert.match(lines.at(-1) ?? '', /^input_required/);
      if (isFirst) await reported.promise;
    }
    const { id } = one.ledger.findByKey('operator', 'mine')?.task ?? assert.fail();
    const answer = { id, question: 1, text: 'this', ...WAIT };
    const done = await callTool(client, 'fleet_answer', answer, { onprogress, ...DEADLINE });
    assert.deepEqual([done.state, done.result.text], ['completed', 'this']);
    assert.match(lines.at(-1) ?? '', /^completed/);
  });

test('a question is returned at once when its notification was sent before the wait ended', async (t) => {
  const one = await profile(t, { script: asking('which?') });
  const { ledger } = one;
  const shown = Promise.withResolvers<void>();
  const late: Pick<typeof ledger, 'settled'> = {
    async settled(id, signal) {
      const record = await ledger.settled(id, signal);
      await shown.promise;
      return record;
    },
  };
  const { connect } = await serveMcp(t, {
    ...one,
    gateway: one.gateway,
    peers: one.peers,
    ledger: Object.assign(Object.create(ledger), late),
  });
  const client = await connect();
  const onprogress = ({ message = '' }: { message?: string }): void => {
    if (message.startsWith('input_required')) shown.resolve();
  };
  const asked = await callTool(
    client,
    'fleet_dispatch',
    { brief: 'x', ...WAIT },
    { onprogress, ...DEADLINE },
  );
  assert.equal(asked.question.text, 'which?');
});
