import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { delegating, handsOver, isStart, words } from '../../testing/delegating.ts';
import { memoryTokens } from '../../testing/harness.ts';
import { stepsSinceAsked } from '../../testing/scripted-run.ts';
import { asked, type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';

for (const code of ['DEADLINE_EXCEEDED', 'CANCELED'] as const) {
  test(`after ${code} in a sub-agent, its writes are kept and count as unverified`, async (t) => {
    const { run } = await delegating(t, {
      main: handsOver('writer'),
      writer: () => use([['write_file', { path: 'half.md', content: 'half' }]]),
    });
    const { result } = await run({
      onProgress: ({ tool, ok }, context) =>
        tool === 'write_file' && ok && context.controller.abort(new FleetError(code, 'no more time')),
    });
    assert.equal(result.status, 'partial', JSON.stringify(result));
    assert.deepEqual(result.artifacts.filesChanged, ['half.md']);
    assert.match(result.nextSteps.join(), /verify half\.md/);
    assert.match(result.remaining?.join() ?? '', /wrote half\.md.*no more time/);
  });
}

/** A run with a writer that writes, reads back, and gives an answer that is too long. */
const WRITER = {
  main: handsOver('writer', 'Write a.md.'),
  writer: (request: ChatRequest): Reply => {
    if (/^Your answer has/.test(asked(request))) return say('a.md is written.');
    const unknown = request.messages.filter(({ content }) => String(content).startsWith('outcome unknown'));
    const steps = [
      use([['write_file', { path: 'a.md', content: 'A' }]]),
      use([['read_file', { path: 'a.md' }]]),
    ];
    return steps[stepsSinceAsked(request) - unknown.length] ?? say(words(4200));
  },
};

const killed = new FleetError('SHUTTING_DOWN', 'killed');

test('a run resumes from every checkpoint of its sub-agent to the same result', async (t) => {
  const { run } = await delegating(t, WRITER);
  const facts = ({ result, answers }: Awaited<ReturnType<typeof run>>) => ({
    status: result.status,
    text: result.text,
    evidence: result.evidence,
    files: result.artifacts.filesChanged,
    nextSteps: result.nextSteps,
    answer: answers().map((answer) => JSON.stringify(answer).replace(/"spent_tokens":\d+/, '')),
  });
  const whole = await run({ contextId: 'whole' });
  const expected = facts(whole);
  assert.deepEqual([expected.status, expected.files], ['done', ['a.md']], JSON.stringify(whole.result));
  assert.match(
    expected.answer[0] ?? '',
    /"status":"finished","answer":"a\.md is written\.","wrote":\["a\.md"\]/,
  );
  const total = whole.context.checkpoints.length;
  assert.ok(total >= 9, String(total));
  for (let saves = 1; saves <= total; saves += 1) {
    const contextId = `after-${saves}`;
    let checkpoint: JsonObject | undefined;
    const store = memoryTokens();
    await run({
      contextId,
      store,
      onSave: (count, context) => {
        if (count === saves) checkpoint = context.checkpoints.at(-1);
        if (count >= saves) context.controller.abort(killed);
      },
    }).catch((error) => assert.equal(error, killed));
    assert.ok(checkpoint);
    const resumed = await run({ contextId, store, checkpoint });
    // The last checkpoint needs no further step, so no prompt is sent.
    const again = facts(resumed);
    if (resumed.requests('main').length === 0) again.answer = expected.answer;
    assert.deepEqual(again, expected, `after ${saves}`);
  }
});

test('a stop at any step of a sub-agent changes no result and repeats no model call', async (t) => {
  let calls = 0;
  const counted = Object.fromEntries(
    Object.entries(WRITER).map(([name, script]) => [
      name,
      (request: ChatRequest): Reply => {
        calls += 1;
        return script(request);
      },
    ]),
  );
  const { run } = await delegating(t, counted);
  const whole = await run({ contextId: 'whole' });
  const perRun = calls;
  calls = 0;
  let checkpoint: JsonObject | undefined;
  let stops = 0;
  let end: Awaited<ReturnType<typeof run>> | undefined;
  while (end === undefined && stops < 50) {
    end = await run({
      contextId: 'stopped',
      ...(checkpoint ? { checkpoint } : {}),
      onSave: (_, context) => {
        checkpoint = context.checkpoints.at(-1);
      },
      onProgress: (data, context) => !isStart(data) && context.pausing.abort(killed),
    }).catch((error) => {
      assert.equal(error, killed);
      stops += 1;
      return undefined;
    });
  }
  assert.ok(end !== undefined && stops >= perRun - 1, String(stops));
  const branch = 'fleet/stopped';
  const { artifacts } = whole.result;
  assert.ok(artifacts.delivery);
  const delivery = { ...artifacts.delivery, branch };
  assert.deepEqual({ ...end.result }, { ...whole.result, artifacts: { ...artifacts, delivery } });
  assert.equal(calls, perRun);
});

for (const [what, config, told] of [
  ['its definition was removed', {}, /^scribe was removed at a restart/],
  ['sub-agents are switched off', { subagents: { enabled: false } }, /^outcome unknown/],
] as const) {
  test(`a sub-agent’s writes before a restart must be verified, even if ${what}`, async (t) => {
    const place = makePlace(t);
    const dir = join(place.stateDir, 'agents');
    mkdirSync(dir);
    const front = 'name: scribe\ndescription: Writes.\ntools: [write_file]';
    writeFileSync(join(dir, 'scribe.md'), `---\n${front}\n---\nWrite.\n`);
    const scripts = {
      main: handsOver('scribe'),
      scribe: () => use([['write_file', { path: 'half.md', content: 'half' }]]),
    };
    const store = memoryTokens();
    let checkpoint: JsonObject | undefined;
    const before = await delegating(t, scripts, {}, { place, subagentsDir: dir });
    await before
      .run({
        store,
        onProgress: ({ tool, ok }, context) => {
          if (tool !== 'write_file' || !ok) return;
          checkpoint = context.checkpoints.at(-1);
          context.controller.abort(killed);
        },
      })
      .catch((error) => assert.equal(error, killed));
    await before.agent.close();
    assert.ok(checkpoint);
    const after = await delegating(t, scripts, config, { place });
    const resumed = await after.run({ store, checkpoint, task: { replySchema: 'structured' } });
    assert.match(String(resumed.answers()[0]), told);
    assert.equal(resumed.result.status, 'partial', JSON.stringify(resumed.result));
    assert.match(resumed.result.nextSteps.join(), /verify half\.md/);
  });
}

test('a crash in the first model call of a sub-agent does not grant another slice', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('researcher', 'x', 6000),
    researcher: () => say('Here.'),
  });
  const store = memoryTokens();
  let checkpoint: JsonObject | undefined;
  await run({
    store,
    onSave: (_, context) => {
      if (context.checkpoints.at(-1)?.memos === undefined) return;
      checkpoint ??= context.checkpoints.at(-1);
      context.controller.abort(killed);
    },
  }).catch((error) => assert.equal(error, killed));
  assert.ok(checkpoint);
  const usage = { inputTokens: 1000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  await store.add('task', { ...usage, kind: 'own', source: 'metered', model: 'm' });
  const { answers } = await run({ store, checkpoint });
  const [, spent] = /"spent_tokens":(\d+)/.exec(JSON.stringify(answers()[0])) ?? [];
  assert.ok(Number(spent) > 1000, `${spent}: what the first call spent is of the slice`);
});
