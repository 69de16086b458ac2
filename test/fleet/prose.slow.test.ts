import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../support/fleet.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';
import { type StockAgent, startStockAgent, textOf } from '../support/stock-agent.ts';

/** A profile that relays, with these agents as its peers, by name. */
async function relaying(
  t: Parameters<typeof startProfile>[0],
  agents: Readonly<Record<string, StockAgent>>,
): Promise<LoneProfile> {
  const profile = await startProfile(t, {
    fleet: {
      orchestrate: true,
      routing: { peer_down_after_s: 2 },
      agents: Object.fromEntries(
        Object.entries(agents).map(([name, { rpcUrl, cardUrl }]) => [
          name,
          { url: rpcUrl, agent_card_url: cardUrl },
        ]),
      ),
    },
  });
  await until(
    () => Object.values(agents).every((agent) => agent.cardReads() > 0),
    'the cards of the agents to be read',
  );
  return profile;
}

const send = async (to: LoneProfile, sent: ReturnType<typeof dispatch>, contextId?: string) => {
  const { status, body } = await call(to, 'SendMessage', message(sent, contextId ? { contextId } : {}));
  assert.equal(status, 200, JSON.stringify(body));
  assert.ok(body.result?.task, JSON.stringify(body));
  return { task: body.result.task, result: resultOf(body.result.task) };
};

const report = (text: string, more: object = {}): string => {
  const id = /^task_id: "?([^"\n]+)"?$/m.exec(text)?.[1] ?? /task "([^"]+)"/.exec(text)?.[1];
  return JSON.stringify({
    type: 'TASK_RESULT',
    protocol_version: '2.0',
    task_id: id,
    status: 'done',
    tokens_spent: 42,
    next_steps: ['rest'],
    blocked_reason: null,
    artifacts: { pr: null, files_changed: ['a.txt'] },
    ...more,
  });
};

test('agents that have never heard of the handshake work as peers of a profile', async (t) => {
  const plain = await startStockAgent(t, { behaviour: async () => 'I tidied up.' });
  const late = await startStockAgent(t, {
    behaviour: async () => 'All at once.',
    answers: 'message',
    streaming: false,
    path: '/a2a/v1',
  });
  const obedient = await startStockAgent(t, {
    behaviour: async (text) => `Done.\n\n\`\`\`json\n${report(text)}\n\`\`\`\n`,
    streaming: false,
  });
  const forgetful = await startStockAgent(t, {
    behaviour: async (text, nth) => (nth === 1 ? 'It is done.' : report(text)),
  });
  const curious = await startStockAgent(t, {
    behaviour: async (text) => (text.includes('blue') ? 'It is blue now.' : { ask: 'Which room?' }),
  });
  const agents = { plain, late, obedient, forgetful, curious };
  const profile = await relaying(t, agents);

  await t.test('a task in prose is done, with the words of the agent', async () => {
    for (const [target, text] of [
      ['plain', 'I tidied up.'],
      ['late', 'All at once.'],
    ] as const) {
      const sent = dispatch({ brief: 'Tidy up.', task: { reply_schema: 'prose' }, routing: { target } });
      const { task, result } = await send(profile, sent);
      assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(result));
      assert.deepEqual([result.status, result.text, result.executed_by], ['done', text, target]);
      assert.equal(result.attempts.length, 1);
    }
  });

  await t.test('what they got is the contract in words', async () => {
    const sent = dispatch({
      brief: 'Tidy up.\nAll of it.',
      task: { reply_schema: 'prose', priority: 'high', token_budget: 4000 },
      requirements: { required_mcp: ['context_mode'] },
      routing: { target: 'plain' },
    });
    await send(profile, sent, 'room-1');
    const got = plain.messages.at(-1);
    assert.ok(got);
    assert.equal(got.contextId, 'room-1');
    const text = textOf(got);
    assert.match(text, /^TASK DISPATCH \(inline\)\n/);
    for (const line of [
      'priority: high',
      'token_budget: 4000',
      'required_mcp: [context_mode]',
      'Brief: Tidy up.',
    ])
      assert.ok(text.split('\n').includes(line), line);
    assert.match(text, /"type": "TASK_RESULT"/);
    assert.doesNotMatch(text, /^(?:path|parent|root_id|routing|target):/m);
  });

  await t.test('a TASK_RESULT in the text of a reply is the result, on the word of the agent', async () => {
    const { result } = await send(profile, dispatch({ brief: 'Tidy up.', routing: { target: 'obedient' } }));
    assert.deepEqual([result.status, result.text, result.next_steps], ['done', 'Done.', ['rest']]);
    assert.deepEqual([result.tokens_spent, result.usage.delegated_tokens], [42, 42]);
    assert.equal(result.usage.source, 'reported');
    assert.deepEqual(result.artifacts.files_changed, ['a.txt']);
    assert.equal(result.evidence.at(-1).kind, 'claimed');
  });

  await t.test('a structured reply that is not one is asked for once more, and used or partial', async () => {
    const repaired = await send(profile, dispatch({ brief: 'Tidy up.', routing: { target: 'forgetful' } }));
    assert.deepEqual([repaired.result.status, repaired.result.text], ['done', 'It is done.']);
    assert.equal(forgetful.messages.length, 2);
    const before = plain.messages.length;
    const { task, result } = await send(
      profile,
      dispatch({ brief: 'Tidy up.', routing: { target: 'plain' } }),
    );
    assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
    assert.deepEqual([result.status, result.text], ['partial', 'I tidied up.']);
    assert.match(result.remaining.join(), /structured/);
    assert.equal(plain.messages.length, before + 2);
    const [first, second] = plain.messages.slice(-2);
    assert.equal(first?.contextId, second?.contextId);
  });

  await t.test('a JSON reply is done only when its output fits', async () => {
    const asked = { reply_schema: 'json', output_schema: { type: 'object', required: ['n'] } };
    const { result } = await send(
      profile,
      dispatch({ brief: 'Count.', task: asked, routing: { target: 'obedient' } }),
    );
    assert.equal(result.status, 'partial');
    assert.match(result.remaining.join(), /there is no output/);
  });

  await t.test(
    'a question comes back, and its answer goes into the same task, over a crash too',
    async () => {
      const task = { reply_schema: 'prose' };
      const asked = await send(
        profile,
        dispatch({ brief: 'Tidy up.', task, routing: { target: 'curious' } }),
      );
      const { id, status } = asked.task;
      assert.deepEqual(
        [status.state, status.message.parts[0].text],
        ['TASK_STATE_INPUT_REQUIRED', 'Which room?'],
      );
      await profile.kill();
      await profile.start();
      const parts = [{ text: 'The blue one.' }];
      const answer = { messageId: 'the-answer', taskId: id, role: 'ROLE_USER', parts };
      const { body } = await call(profile, 'SendMessage', { message: answer });
      const result = resultOf(body.result.task);
      assert.deepEqual(
        [result.status, result.text, result.executed_by],
        ['done', 'It is blue now.', 'curious'],
      );
      assert.deepEqual(curious.messages.map(textOf).slice(1), ['The blue one.']);
      assert.ok(curious.messages[1]?.taskId);
      assert.ok(!curious.methods.includes('CancelTask'));
    },
  );

  await t.test('none of them ever got an announce', () => {
    for (const [name, agent] of Object.entries(agents))
      for (const got of agent.messages) {
        assert.ok(!got.contextId.startsWith('handshake:'), name);
        assert.ok(!JSON.stringify(got).includes('SESSION_ANNOUNCE'), name);
      }
  });
});

test('an agent that dies in the middle of a task is not asked to do it again', async (t) => {
  const begun = Promise.withResolvers<void>();
  const never = new Promise<string>(() => undefined);
  const fragile = await startStockAgent(t, {
    behaviour: () => {
      begun.resolve();
      return never;
    },
  });
  const profile = await relaying(t, { fragile });
  const sent = send(profile, dispatch({ brief: 'Tidy up.', routing: { target: 'fragile' } }));
  await begun.promise;
  await fragile.kill();
  const { task, result } = await sent;
  assert.equal(task.status.state, 'TASK_STATE_FAILED');
  assert.deepEqual([result.error.code, result.error.retryable], ['outcome_unknown', false]);
  assert.match(result.error.message, /it is unknown whether fragile did the task/);
  assert.equal(fragile.messages.length, 1);
  assert.equal(fragile.methods.filter((method) => method === 'SendMessage').length, 1);
});

test('a task whose answer got lost is found at the agent, and not sent again', async (t) => {
  const careful = await startStockAgent(t, { behaviour: async () => 'Tidy.', losesFirstAnswer: true });
  const profile = await relaying(t, { careful });
  const prose = { reply_schema: 'prose' };
  const sent = dispatch({ brief: 'Tidy up.', task: prose, routing: { target: 'careful' } });
  const { result } = await send(profile, sent);
  assert.deepEqual([result.status, result.text], ['done', 'Tidy.']);
  assert.deepEqual([careful.messages.length, careful.methods.includes('ListTasks')], [1, true]);
});

test('an agent that announces itself in a reply is known by that announce from then on', async (t) => {
  const announce = {
    type: 'SESSION_ANNOUNCE',
    protocol_version: '2.0',
    mcp_health: {},
    worker: { agent_id: 'shim', model: 'm', model_tier: 'opus', context_window: 200_000 },
    capabilities: { tools: ['terminal'], mcp_servers: [] },
    session: {
      context_id: 'handshake:hermes-switch',
      active_tasks: 0,
      session_fresh: true,
      repo_state: { branch: 'main', clean: true },
    },
  };
  const shim = await startStockAgent(t, {
    behaviour: async () => `Done.\n\`\`\`json\n${JSON.stringify(announce, null, 2)}\n\`\`\``,
  });
  const profile = await relaying(t, { shim });
  const sent = { brief: 'x', task: { reply_schema: 'prose' }, routing: { target: 'shim' } };
  await send(profile, dispatch(sent));
  const heard = /^fleet_handshake_announces_total\{peer="shim",direction="in",result="ok"[^}]*\} (\d+)/m;
  const metrics = await (await fetch(`${profile.url}/metrics`)).text();
  assert.equal(heard.exec(metrics)?.[1], '1', metrics);
  const unmet = { ...sent, requirements: { required_mcp: ['trek'] } };
  assert.equal((await send(profile, dispatch(unmet))).result.status, 'blocked', 'by what it announced');
  assert.equal((await send(profile, dispatch(sent))).result.status, 'done');
  assert.equal(shim.messages.length, 2);
  for (const got of shim.messages) assert.match(textOf(got), /^TASK DISPATCH \(inline\)/);
});

test('a task at an agent goes on after a crash of the profile that sent it', async (t) => {
  const begun = Promise.withResolvers<void>();
  const work = Promise.withResolvers<string>();
  const steady = await startStockAgent(t, {
    behaviour: () => {
      begun.resolve();
      return work.promise;
    },
    path: '/',
  });
  const profile = await relaying(t, { steady });
  const sent = dispatch({
    brief: 'Tidy up.',
    task: { reply_schema: 'prose' },
    routing: { target: 'steady' },
  });
  const { body } = await call(profile, 'SendMessage', message(sent, { returnImmediately: true }));
  const { id } = body.result.task;
  await begun.promise;
  await until(() => steady.methods.includes('SubscribeToTask'), 'the task to be followed');
  await profile.kill();
  await profile.start();
  work.resolve('Tidy.');
  const state = async () => (await call(profile, 'GetTask', { id })).body.result;
  await until(async () => (await state()).status.state !== 'TASK_STATE_WORKING', 'the task to end');
  const result = resultOf(await state());
  assert.deepEqual([result.status, result.text], ['done', 'Tidy.']);
  assert.equal(steady.messages.length, 1);
});
