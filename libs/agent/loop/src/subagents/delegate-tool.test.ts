import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { delegating, hand, handsOver, isStart } from '../../testing/delegating.ts';
import { stepsSinceAsked, userTexts } from '../../testing/scripted-run.ts';
import { asked, type ChatRequest, say, use } from '../../testing/scripted-server.ts';

const toolNames = (request: ChatRequest | undefined): string[] =>
  (request?.tools ?? []).map((tool) => tool.function.name);

test('a sub-agent gets the brief, its own prompt and tools, and its answer becomes the result', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: (request) =>
      stepsSinceAsked(request) === 0 ? use([['list_files', {}]]) : say('In `a.txt:1`.'),
  });
  const { result, context, requests, answers } = await run({
    brief: 'A long story. Find x.',
    limit: 200_000,
  });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.equal(result.text, 'Done with it.');
  const [first, second] = requests('researcher');
  const [system, user, ...rest] = first?.messages ?? [];
  assert.deepEqual([user?.content, rest], ['<task>\nWhere is x?\n</task>', []]);
  assert.match(String(system?.content), /^You are researcher, a sub-agent of neo[\s\S]+## Response Format/);
  assert.match(String(system?.content), /Keep total response under 2000 words unless/);
  assert.doesNotMatch(JSON.stringify(second?.messages), /long story/);
  assert.ok(!JSON.stringify(requests('main')).includes('list_files":'), 'its calls are its own');

  const names = toolNames(first);
  assert.ok(names.includes('read_file') && names.includes('scratchpad_write'), names.join());
  for (const never of ['write_file', 'edit_file', 'shell_exec', 'delegate', 'ask_caller', 'scratchpad_read'])
    assert.ok(!names.includes(never), never);

  const [answer] = answers();
  assert.ok(answer !== null && typeof answer === 'object' && 'spent_tokens' in answer);
  const { spent_tokens: spent, ...told } = answer;
  assert.deepEqual(told, { agent: 'researcher', status: 'finished', answer: 'In `a.txt:1`.' });
  assert.ok(Number(spent) > 500 && Number(spent) < context.budget.spent(), String(spent));

  const progress = context.events.flatMap((event) =>
    event.type === 'progress' && !isStart(event.data) ? [event.data] : [],
  );
  assert.deepEqual(
    progress.map(({ agent, tool }) => [agent, tool]),
    [
      [undefined, undefined],
      ['researcher', undefined],
      ['researcher', 'list_files'],
      ['researcher', undefined],
      [undefined, 'delegate'],
      [undefined, undefined],
    ],
  );
  assert.equal(progress.at(2)?.budget_tokens, 200_000);
  const texts = context.events.flatMap((event) => (event.type === 'text' ? [event.text] : []));
  assert.equal(texts.join(''), 'Done with it.', 'its text is not the caller’s');
});

test('the description lists the agents; an unknown agent and nested delegation are refused', async (t) => {
  const { run } = await delegating(t, {
    main: (request) =>
      [hand('plumber'), hand('researcher')][stepsSinceAsked(request)] ?? say('Done with it.'),
    researcher: (request) =>
      [hand('writer'), use([['ask_caller', { question: 'What?' }]])][stepsSinceAsked(request)] ??
      say('Alone, then.'),
  });
  const { requests, answers } = await run();
  const tool = requests('main')[0]?.tools?.find(({ function: { name } }) => name === 'delegate');
  assert.match(JSON.stringify(tool), /- deep-thinker: [^\\]+\\n- researcher: [^\\]+\\n- writer: /);
  assert.match(String(answers()[0]), /there is no agent plumber; there are deep-thinker, researcher, writer/);
  const refusals = (requests('researcher').at(-1)?.messages ?? [])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content));
  assert.match(refusals[0] ?? '', /tool '?delegate'?/);
  assert.match(refusals[1] ?? '', /tool '?ask_caller'?/);
});

test('the files that a sub-agent wrote come from the journal, not from its claim', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('writer', 'Write report.md.'),
    writer: () => say('I have written and verified report.md.'),
  });
  const { result, answers } = await run();
  assert.match(JSON.stringify(answers()[0]), /"wrote":\[\]/);
  assert.deepEqual([result.artifacts.filesChanged, result.evidence], [[], []]);
});

test('the caller must verify the writes of its sub-agent', async (t) => {
  const { run } = await delegating(t, {
    main: (request) => {
      if (!/^Not verified yet/.test(userTexts(request).at(-1) ?? ''))
        return handsOver('writer', 'Write report.md.')(request);
      return stepsSinceAsked(request) === 0 ? use([['read_file', { path: 'report.md' }]]) : say('Checked.');
    },
    writer: (request) =>
      stepsSinceAsked(request) === 0
        ? use([['write_file', { path: 'report.md', content: 'It is so.\n' }]])
        : say('Written.'),
  });
  const { result, answers, requests } = await run({ task: { replySchema: 'structured' } });
  assert.match(JSON.stringify(answers()[0]), /"wrote":\["report\.md"\]/);
  assert.ok(requests('main').some((request) => /^Not verified yet.*report\.md/.test(asked(request))));
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['report.md']);
  assert.deepEqual(result.evidence, [{ kind: 'reread', detail: 'report.md', afterWrite: true }]);
});

test('a sub-agent’s verification of its own writes counts', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('writer', 'Write report.md.'),
    writer: (request) =>
      [
        use([['write_file', { path: 'report.md', content: 'x' }]]),
        use([['read_file', { path: 'report.md' }]]),
      ][stepsSinceAsked(request)] ?? say('Written, and read again.'),
  });
  const { result, requests } = await run({ task: { replySchema: 'structured' } });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.evidence, [{ kind: 'reread', detail: 'report.md', afterWrite: true }]);
  assert.equal(requests('main').length, 2, 'nothing more was asked');
});

test('sub-agents called in one step work at the same time, and each counts what it spends itself', async (t) => {
  const usage = { prompt_tokens: 500, completion_tokens: 10 };
  const { run } = await delegating(t, {
    main: (request) =>
      stepsSinceAsked(request) === 0
        ? use([
            ['delegate', { agent: 'researcher', brief: 'x' }],
            ['delegate', { agent: 'deep-thinker', brief: 'y' }],
          ])
        : say('Done.'),
    researcher: (request) =>
      stepsSinceAsked(request) === 0 ? use([['list_files', {}]], usage) : say('x', usage),
    'deep-thinker': () => say('y', usage),
  });
  const { answers, context } = await run({ limit: 60_000 });
  const phases = context.events.flatMap((event) =>
    event.type === 'progress' && event.data.tool === 'delegate' ? [event.data.phase] : [],
  );
  assert.deepEqual(phases, ['started', 'started', 'ended', 'ended']);
  const answered = z.object({ agent: z.string(), answer: z.string(), spent_tokens: z.int() });
  assert.deepEqual(z.array(answered).parse(answers()), [
    { agent: 'researcher', answer: 'x', spent_tokens: 1020 },
    { agent: 'deep-thinker', answer: 'y', spent_tokens: 510 },
  ]);
});

test('without sub-agents, delegate is not offered', async (t) => {
  const { run } = await delegating(t, { main: () => say('Alone.') }, { subagents: { enabled: false } });
  const { requests } = await run();
  assert.ok(!toolNames(requests('main')[0]).includes('delegate'));
  assert.doesNotMatch(String(requests('main')[0]?.messages[0]?.content), /Sub-agents/);
});
