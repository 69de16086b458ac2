import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskState } from '@a2a-js/sdk';
import { CALLER_EXTENSION } from '@hermes-fleet/a2a';
import { startProfile } from '../support/lone-profile.ts';
import { runbook } from '../support/rpc.ts';
import { request, stockClient } from '../support/stock-client.ts';

test("a stock client's plain text is a task, with and without hints", async (t) => {
  const profile = await startProfile(t, { name: 'neo' });
  const client = await stockClient(profile);
  const ask = async (text: string, contextId = '') => await client.sendMessage(request(text, contextId));
  const taskOf = async (text: string) => {
    const task = await ask(text);
    assert.ok('status' in task && task.status, JSON.stringify(task));
    const data = task.artifacts
      .flatMap(({ parts }) => parts)
      .flatMap(({ content }) => (content?.$case === 'data' ? [content.value] : []));
    const words = task.artifacts
      .flatMap(({ parts }) => parts)
      .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []));
    return { state: task.status.state, result: data[0], words: words.join('\n') };
  };

  await t.test('its card is the extended one, with what the operator may do', async () => {
    const { capabilities } = await client.getAgentCard();
    const params = capabilities?.extensions.find(({ uri }) => uri === CALLER_EXTENSION)?.params;
    const { streams, concurrent_tasks, body_bytes, tokens_per_day } = params?.limits ?? {};
    assert.deepEqual([params?.caller, params?.scopes], ['operator', ['announce', 'dispatch', 'read']]);
    assert.deepEqual([streams, concurrent_tasks, body_bytes, tokens_per_day], [256, 4, 1_048_576, null]);
    assert.deepEqual([params?.peers, params?.peers_not_shown], [[], 0]);
  });

  await t.test('without hints', async () => {
    const { state, result, words } = await taskOf(runbook('note.txt', 'hello', 'cat note.txt'));
    assert.equal(state, TaskState.TASK_STATE_COMPLETED, JSON.stringify(result));
    assert.deepEqual([result.status, result.artifacts.files_changed], ['done', ['note.txt']]);
    assert.match(words, /hello/);
  });

  await t.test(
    'with a file, which its command finds in the workspace and which is no change of the task',
    async () => {
      const sent = request(runbook('note.txt', 'a note', 'cat inbox/*/plan.txt'));
      const bytes = Buffer.from('the plan of the client');
      sent.message?.parts.push({
        content: { $case: 'raw', value: bytes },
        metadata: undefined,
        filename: '../../plan.txt',
        mediaType: 'text/plain',
      });
      const task = await client.sendMessage(sent);
      assert.ok(
        'status' in task && task.status?.state === TaskState.TASK_STATE_COMPLETED,
        JSON.stringify(task),
      );
      const said = JSON.stringify(task.artifacts);
      assert.match(said, /the plan of the client/);
      assert.match(said, /"files_changed":\["note\.txt"\]/);
    },
  );

  await t.test('with hints that it meets, under the name that they give', async () => {
    const hints = ['TASK DISPATCH (inline)', 'task_id: "from-a-stock-client"', 'reply_schema: structured'];
    const text = [
      ...hints,
      'required_capabilities: [terminal, file]',
      `Brief: ${runbook('b.txt', 'b', 'cat b.txt')}`,
    ];
    const { state, result } = await taskOf(text.join('\n'));
    assert.equal(state, TaskState.TASK_STATE_COMPLETED, JSON.stringify(result));
    assert.deepEqual([result.task_id, result.status], ['from-a-stock-client', 'done']);
  });

  await t.test('with hints that it does not meet, before any token', async () => {
    const { state, result } = await taskOf('TASK DISPATCH (inline)\nrequired_mcp: [trek]\nBrief: Anything.');
    assert.equal(state, TaskState.TASK_STATE_REJECTED);
    assert.deepEqual([result.status, result.tokens_spent], ['blocked', 0]);
    assert.match(result.blocked_reason, /trek/);
  });

  await t.test('with hints that are wrong, every one of them named', async () => {
    const text =
      'TASK DISPATCH (inline)\npriority: soon\ntoken_budget: many\nwrite: yes\ndeadline: later\nBrief: x';
    await assert.rejects(ask(text), (error) => {
      const said = error instanceof Error ? error.message : '';
      return ['task.priority', 'task.token_budget', 'task.write', 'deadline'].every((field) =>
        said.includes(field),
      );
    });
  });

  await t.test(
    'on a reserved context it is answered in words, with the announce, and runs nothing',
    async () => {
      const reply = await ask('I am switch, the orchestrator. I send work.', 'handshake:hermes-neo');
      assert.ok('parts' in reply, JSON.stringify(reply));
      const [text, data] = [
        reply.parts.find(({ content }) => content?.$case === 'text')?.content?.value,
        reply.parts.find(({ content }) => content?.$case === 'data')?.content?.value,
      ];
      assert.match(String(text), /^role=agent profile=neo ready/);
      assert.equal(data.type, 'SESSION_ANNOUNCE');
      assert.equal(data.session.active_tasks, 0);
    },
  );
});
