import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { delegating, hand, handsOver, words } from '../../testing/delegating.ts';
import { stepsSinceAsked } from '../../testing/scripted-run.ts';
import { asked, type Reply, say, use } from '../../testing/scripted-server.ts';

test('an answer of 5,000 words is condensed once, and then cut with a pointer to the full text', async (t) => {
  const { run, agent } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: (request) => say(/^Your answer has/.test(asked(request)) ? words(3000, 'less') : words(5000)),
  });
  const { requests, answers } = await run({ task: { taskId: 'root-1' } });
  assert.equal(requests('researcher').length, 2);
  assert.equal(
    asked(requests('researcher')[1] ?? assert.fail()),
    'Your answer has about 5000 words. Condense it to under 2000: keep the direct answer, the findings and their citations. The tools are off; reply with the condensed answer and nothing else.',
  );
  const [answer] = answers();
  assert.ok(answer !== null && typeof answer === 'object' && 'answer' in answer && 'status' in answer);
  const [, cut, path] =
    /^([\s\S]+)…\n\[cut at 2000 words; the full text is in (.+)\]$/.exec(String(answer.answer)) ?? [];
  assert.equal(cut, words(2000, 'less'));
  assert.equal(answer.status, 'finished');
  assert.match(path ?? '', /^\.scratch\/root-1\/researcher-/);
  const tree = join(agent.place.workspaceRoot, 'contexts', 'context-1', 'tree');
  assert.equal(readFileSync(join(tree, path ?? ''), 'utf8'), words(5000));
});

test('an answer that was condensed below the limit is returned unchanged', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('writer'),
    writer: (request) => say(/^Your answer has/.test(asked(request)) ? 'In short: yes.' : words(4500)),
  });
  const { answers, requests } = await run();
  assert.match(asked(requests('writer')[1] ?? assert.fail()), /under 4000/);
  assert.match(JSON.stringify(answers()[0]), /"status":"finished","answer":"In short: yes\."/);
});

test('an answer is kept if condensing it fails', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: (request) =>
      /^Your answer has/.test(asked(request)) ? { status: 400, body: '{}' } : say(words(2500)),
  });
  const told = JSON.stringify((await run()).answers()[0]);
  assert.match(
    told,
    /"status":"finished","answer":"fact .* fact…\\n\[cut at 2000 words; the full text is in /,
  );
});

test('a sub-agent whose model fails returns its last text', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: (request) =>
      stepsSinceAsked(request) === 0
        ? {
            deltas: [
              { content: 'So far: `a.txt:1`.' },
              {
                tool_calls: [
                  { index: 0, type: 'function', function: { name: 'list_files', arguments: '{}' } },
                ],
              },
            ],
            finish: 'tool_calls',
          }
        : { status: 400, body: '{}' },
  });
  assert.match(
    JSON.stringify((await run()).answers()[0]),
    /"partial","why":"researcher was stopped: the model's provider answered 400","answer":"So far: `a\.txt:1`\."/,
  );
});

test('a sub-agent whose answer promises a call that does not come is not finished', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: () => ({ ...say('I look.'), finish: 'tool_calls' }),
  });
  assert.match(
    JSON.stringify((await run()).answers()[0]),
    /"partial","why":"its answer ended for a tool call/,
  );
});

test('the guards stop a sub-agent that repeats itself, and it sums up', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: (request) =>
      /^Wrap up now\. You may take/.test(asked(request)) ? say('Nothing new.') : use([['list_files', {}]]),
  });
  const { answers, result, requests } = await run();
  assert.match(
    JSON.stringify(answers()[0]),
    /"status":"partial","why":"it was stopped: .+","answer":"Nothing new\."/,
  );
  assert.ok(requests('researcher').length < 10, String(requests('researcher').length));
  assert.equal(result.status, 'done', 'the run itself goes on');
});

test('a sub-agent that runs out of steps sums up, and the answer says so', async (t) => {
  const { run } = await delegating(
    t,
    {
      main: handsOver('researcher'),
      researcher: (request, turn) =>
        /^Wrap up now\. You may take/.test(asked(request))
          ? say('Half of it: `a.txt:1`.')
          : use([['find_files', { pattern: `${turn}*` }]]),
    },
    { subagents: { max_steps: 3 } },
  );
  const { answers, requests, result } = await run();
  assert.equal(requests('researcher').length, 4);
  assert.equal(requests('researcher')[3]?.tool_choice, 'none');
  assert.match(
    JSON.stringify(answers()[0]),
    /"status":"partial","why":"its 3 steps are used up","answer":"Half of it: `a\.txt:1`\."/,
  );
  assert.equal(result.status, 'done');
});

test('a sub-agent spends at most its slice, and its caller can finish', async (t) => {
  for (const [what, last, why] of [
    [
      'wraps up',
      say('What I have.'),
      /"partial","why":"its token budget is nearly spent","answer":"What I have\."/,
    ],
    ['does not', { status: 400, body: '{}' } satisfies Reply, /"failed","why":"researcher was stopped: /],
  ] as const) {
    const { run } = await delegating(t, {
      main: handsOver('researcher', 'Look at everything.'),
      researcher: (request, turn) =>
        /^Wrap up now\. Your token/.test(asked(request))
          ? last
          : use([['find_files', { pattern: `${turn}-${words(30)}` }]]),
    });
    const { answers, result, context } = await run({ limit: 40_000 });
    const told = JSON.stringify(answers()[0]);
    assert.match(told, why, what);
    const spent = Number(/"spent_tokens":(\d+)/.exec(told)?.[1]);
    assert.ok(spent > 5000 && spent <= 40_000 / 3, `${what}: ${spent}`);
    assert.deepEqual([result.status, result.text], ['done', 'Done with it.'], what);
    assert.ok(context.budget.spent() <= 40_000);
  }
});

test('the call sets the slice, and one that is too small is refused at no cost', async (t) => {
  const { run } = await delegating(t, {
    main: (request) =>
      [hand('researcher', 'x', 100), hand('researcher', 'x', 6000)][stepsSinceAsked(request)] ?? say('Done.'),
    researcher: () => use([['find_files', { pattern: words(40) }]]),
  });
  const { answers, requests } = await run();
  const [refused, spent] = answers().map((answer) => JSON.stringify(answer));
  assert.match(refused ?? '', /its budget slice of 100 tokens is too small for two steps/);
  assert.ok(Number(/"spent_tokens":(\d+)/.exec(spent ?? '')?.[1]) <= 6000, spent);
  assert.ok(requests('researcher').length > 1, 'a task without a ceiling has slices too');
});

const outcome = (remaining: readonly string[]): string =>
  `\n\`\`\`outcome\n${JSON.stringify({ status: 'partial', remaining })}\n\`\`\``;

test('a condensed answer still lists what is missing', async (t) => {
  const { run } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: (request) =>
      say(/^Your answer has/.test(asked(request)) ? 'In short: yes.' : `${words(2500)}${outcome(['b.txt'])}`),
  });
  assert.match(
    JSON.stringify((await run()).answers()[0]),
    /"partial","why":"it says that it is not done","answer":"In short: yes\.","remaining":\["b\.txt"\]/,
  );
});

test('the remaining work that a sub-agent reports is limited', async (t) => {
  const remaining = [words(100), ...Array.from({ length: 600 }, (_, at) => `item ${at}`)];
  const { run } = await delegating(t, {
    main: handsOver('researcher'),
    researcher: () => say(`Half of it.${outcome(remaining)}`),
  });
  const told = JSON.stringify((await run()).answers()[0]);
  assert.match(
    told,
    /"answer":"Half of it\.","remaining":\["(?:fact ?){40}","item 0",.+"item 18","and 581 more"\]/,
  );
});
