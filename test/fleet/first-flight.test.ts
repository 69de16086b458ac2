import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvents, startFleet } from '../support/fleet.ts';
import { call, dispatch, message, resultOf, runbook, textMessage } from '../support/rpc.ts';

test('a whole fleet: routed, blocked and plain work, with every step on the bus and in the metrics', async (t) => {
  const fleet = await startFleet(t);
  const operator = fleet.target('switch');

  await t.test('a dispatch to auto is done by a worker that switch chose', async () => {
    const sent = dispatch({
      taskId: 'flight-1',
      brief: runbook('hello.txt', 'Hello from the fleet.', 'cat hello.txt', 'grep -c fleet hello.txt'),
      task: { token_budget: 20_000 },
      requirements: { required_mcp: ['filesystem'], required_capabilities: ['terminal', 'file'] },
      routing: { target: 'auto', on_blocked: 'reroute' },
    });
    const { status, body } = await call(operator, 'SendMessage', message(sent));
    assert.equal(status, 200, JSON.stringify(body));
    const { task } = body.result;
    assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
    const result = resultOf(task);
    assert.equal(result.status, 'done');
    assert.equal(result.task_id, 'flight-1');
    assert.deepEqual(result.artifacts.files_changed, ['hello.txt']);
    assert.ok(result.tokens_spent > 0);
    assert.ok(['neo', 'morpheus', 'trinity'].includes(result.executed_by), result.executed_by);
    assert.equal(result.usage.delegated_tokens, result.tokens_spent);
    assert.equal(result.attempts.length, 1);
    assert.ok(result.evidence.some((one: { exit_code?: number }) => one.exit_code === 0));
  });

  await t.test(
    'what nobody declares is blocked at once, with the reason and no token, whatever on_blocked says',
    async () => {
      for (const on_blocked of ['reroute', 'queue', 'fail']) {
        const sent = dispatch({
          brief: 'anything',
          requirements: { required_mcp: ['nope'] },
          routing: { target: 'auto', on_blocked },
        });
        const { body } = await call(operator, 'SendMessage', message(sent));
        const { task } = body.result;
        assert.equal(task.status.state, 'TASK_STATE_REJECTED', on_blocked);
        const result = resultOf(task);
        assert.equal(result.status, 'blocked');
        assert.equal(result.tokens_spent, 0);
        assert.match(result.blocked_reason, /nope/);
        assert.deepEqual(
          result.unmet.map(({ kind, name }: { kind: string; name: string }) => [kind, name]),
          [['mcp', 'nope']],
        );
      }
    },
  );

  await t.test('a plain text message works, on a worker and through switch', async () => {
    const text = runbook('note.txt', 'plain', 'cat note.txt');
    for (const profile of ['neo', 'switch']) {
      const { body } = await call(fleet.target(profile), 'SendMessage', textMessage(text));
      assert.equal(body.result.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
    }
  });

  await t.test('every step of both tasks is an event in the stream, in order', async () => {
    const ended = (events: readonly { source: string; type: string }[], source: string, type: string) =>
      events.filter((event) => event.source === source && event.type === `dev.hermes-fleet.task.${type}.v1`)
        .length;
    const events = await readEvents(
      fleet,
      (all) => ended(all, '/profiles/switch', 'done') >= 2 && ended(all, '/profiles/switch', 'blocked') >= 3,
    );
    const mine = events.filter(
      (event) => event.source === '/profiles/switch' && event.data.task_id === 'flight-1',
    );
    const types = mine.map((event) => event.type.split('.').at(-2));
    assert.equal(types[0], 'submitted');
    assert.equal(types.at(-1), 'done');
    for (const type of ['started', 'delegated']) assert.ok(types.includes(type), types.join());
    const sequences = mine.map((event) => Number(event.id.split(':').at(-1)));
    assert.deepEqual(
      sequences,
      [...sequences].sort((a, b) => a - b),
    );
    assert.equal(new Set(events.map((event) => event.id)).size, events.length);
    assert.ok(!JSON.stringify(events).includes('Hello from the fleet'), 'an event carries a brief');
  });

  await t.test('tokens and blocked tasks move in the metrics', async () => {
    const blocked = await fleet.metrics('switch');
    assert.match(blocked, /fleet_task_admissions_total\{[^}]*decision="blocked"[^}]*reason="mcp"[^}]*\} 3/);
    const spent = await Promise.all(['neo', 'morpheus', 'trinity'].map((profile) => fleet.metrics(profile)));
    const total = spent
      .flatMap((text) => [...text.matchAll(/^fleet_tokens_spent_total\{[^}]*\} (\S+)$/gm)])
      .reduce((sum, match) => sum + Number(match[1]), 0);
    assert.ok(total > 0);
  });
});
