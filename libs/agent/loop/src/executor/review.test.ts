import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReview, scriptedAgent, stepsSinceAsked, userTexts } from '../../testing/scripted-run.ts';
import { asked, type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';
import { filesOfDiff, readVerdict, reviewMessage } from '../messages/review-prompt.ts';

const BRIEF = 'Write A to a.txt.';
const OBJECTS = /^A second, independent check objects\./;
const OBJECTION = 'a.txt says B, not A';
const REJECTS = 'I stand by it: a.txt holds what was asked for.';
const verdict = (value: object): Reply =>
  say(`Looked at it.\n\`\`\`review\n${JSON.stringify(value)}\n\`\`\``);
const writes = (content: string): Reply => use([['write_file', { path: 'a.txt', content }]]);
const look = use([['read_file', { path: 'a.txt' }]]);

/** Writes B, reads it and finishes; writes A after an objection if it `corrects`. */
function author(request: ChatRequest, corrects = true, reply = REJECTS): Reply {
  const told = OBJECTS.test(userTexts(request).at(-1) ?? '');
  if (told && !corrects) return say(reply);
  const steps = [writes(told ? 'A' : 'B'), look];
  return steps[stepsSinceAsked(request)] ?? say(told ? 'A it is.' : 'B it is.');
}

const script = (reviewer: (request: ChatRequest) => Reply, corrects = true, reply = REJECTS) => {
  return (_: number, request: ChatRequest): Reply =>
    isReview(request) ? reviewer(request) : author(request, corrects, reply);
};

const urgent = { brief: BRIEF, task: { priority: 'urgent' } } as const;
const ofReview = (result: { evidence?: { kind: string; detail: string }[] | undefined }): string[] =>
  (result.evidence ?? []).filter(({ kind }) => kind === 'review').map(({ detail }) => detail);

test('a review is a separate conversation that sees the brief and the diff and has read-only tools', async (t) => {
  const run = await scriptedAgent(
    t,
    script((request) => (stepsSinceAsked(request) === 0 ? look : verdict({ verdict: 'ok' }))),
  );
  const { result, requests, context, guards } = await run(urgent);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(ofReview(result), ['no objections: Looked at it.']);
  assert.deepEqual([result.nextSteps, guards], [[], []]);
  const [first, second, ...more] = requests.filter(isReview);
  assert.deepEqual([requests.length, more.length], [5, 0]);
  assert.deepEqual(
    first?.messages.map(({ role }) => role),
    ['system', 'user'],
  );
  assert.deepEqual(
    first?.tools?.map((tool) => tool.function.name),
    ['read_file', 'list_files'],
  );
  const [told = ''] = first ? userTexts(first) : [];
  assert.match(told, /^<task>\nWrite A to a\.txt\.\n<\/task>\n\n<diff>\ndiff --git a\/a\.txt b\/a\.txt\n/);
  assert.match(told, /\n\+B\n/);
  assert.doesNotMatch(JSON.stringify(first?.messages), /B it is|context-1/);
  assert.match(JSON.stringify(second?.messages.at(-1)), /"role":"tool".*\\"content\\":\\"B\\"/);
  const streamed = context.events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
  assert.equal(streamed, 'B it is.', "the review's text is not part of the reply");
  const marked = context.events.filter(({ type, ...event }) => {
    return type === 'progress' && 'data' in event && event.data.review === true;
  });
  assert.equal(marked.length, 4, 'two steps, and a call that starts and ends');
});

test('objections are handed back once, and the corrected work is the result', async (t) => {
  const run = await scriptedAgent(
    t,
    script(() => verdict({ verdict: 'objections', objections: [OBJECTION, ' '] })),
  );
  const { result, requests, guards } = await run(urgent);
  assert.deepEqual([result.status, result.text], ['done', 'A it is.'], JSON.stringify(result));
  assert.deepEqual(ofReview(result), [`objections, handed back once: ${OBJECTION}`]);
  assert.deepEqual([result.nextSteps, guards], [[], ['review warn']]);
  assert.equal(requests.filter(isReview).length, 1);
  const told = requests.filter((request) => OBJECTS.test(asked(request)));
  assert.equal(told.length, 1);
  assert.match(asked(told[0] ?? assert.fail()), new RegExp(`\n- ${OBJECTION}\n`));
});

test('objections that the model rejects are part of the evidence', async (t) => {
  const objecting = () => verdict({ verdict: 'ok', objections: [OBJECTION] });
  const run = await scriptedAgent(t, script(objecting, false));
  const { result, requests } = await run(urgent);
  assert.deepEqual([result.status, result.text], ['done', REJECTS], JSON.stringify(result));
  assert.deepEqual(ofReview(result), [`objections, handed back once: ${OBJECTION}`]);
  assert.equal(requests.filter(isReview).length, 1);
});

test('a task is not done if nothing was changed or said to an objection', async (t) => {
  const objecting = () => verdict({ verdict: 'objections', objections: [OBJECTION] });
  const run = await scriptedAgent(t, script(objecting, false, 'All is done.'));
  const { result } = await run(urgent);
  assert.deepEqual(
    [result.status, result.remaining],
    ['partial', [`an objection of the review: ${OBJECTION}`]],
  );
});

/** Reviews without a verdict: the result's next step, and the evidence. */
const NO_VERDICT: [
  what: string,
  reviewer: (request: ChatRequest) => Reply,
  says: RegExp,
  evidence: string[],
][] = [
  [
    'does not judge',
    () => verdict({ verdict: 'not_judged' }),
    /^review the changes: the second check did not judge them \(Looked at it\.\)$/,
    ['not judged: Looked at it.'],
  ],
  [
    'gives no verdict',
    () => say('Looks good to me!'),
    /^review the changes: the second check gave no readable verdict \(Looks good to me!\)$/,
    ['no readable verdict: Looks good to me!'],
  ],
  [
    'objects without a word',
    () => verdict({ verdict: 'objections' }),
    /the second check gave no readable verdict/,
    ['no readable verdict: Looked at it.'],
  ],
  [
    'never ends',
    (request) => use([['read_file', { path: 'a.txt', limit: request.messages.length }]]),
    /no readable verdict \(it reached no verdict within 10 steps\)$/,
    ['no readable verdict: it reached no verdict within 10 steps'],
  ],
  [
    'goes in circles',
    () => use([['list_files', {}]]),
    /no readable verdict \(list_files was called again and again with the same input and the same result\)$/,
    ['no readable verdict: list_files was called again and again with the same input and the same result'],
  ],
  [
    'meets a provider that refuses',
    () => ({ status: 400, body: '{}' }),
    /^review the changes: the second check was interrupted \(the model's provider answered 400\)$/,
    [],
  ],
];

for (const [what, reviewer, says, evidence] of NO_VERDICT) {
  test(`a review that ${what} does not fail the run, and the result says so`, async (t) => {
    const run = await scriptedAgent(t, script(reviewer));
    const { result, requests } = await run(urgent);
    assert.deepEqual([result.status, result.text], ['done', 'B it is.'], JSON.stringify(result));
    assert.equal(result.nextSteps.length, 1);
    assert.match(result.nextSteps[0] ?? '', says);
    assert.deepEqual(ofReview(result), evidence);
    // Ten steps, and the request for a verdict after them.
    assert.ok(requests.filter(isReview).length <= 11);
  });
}

test('a review that tries to change something is told that the tool is unavailable', async (t) => {
  const run = await scriptedAgent(
    t,
    script((request) =>
      stepsSinceAsked(request) === 0
        ? use([
            ['write_file', { path: 'a.txt', content: 'mine' }],
            ['shell_exec', { command: 'rm a.txt' }],
          ])
        : verdict({ verdict: 'ok' }),
    ),
  );
  const { result, requests } = await run(urgent);
  assert.deepEqual(ofReview(result), ['no objections: Looked at it.'], JSON.stringify(result));
  assert.deepEqual(
    result.evidence?.map(({ kind }) => kind),
    ['reread', 'review'],
  );
  const last = JSON.stringify(requests.at(-1)?.messages);
  assert.match(last, /there is no tool write_file.*there is no tool shell_exec/);
});

test('near the end of its tokens a review is asked for its verdict, and leaves enough for the run', async (t) => {
  const run = await scriptedAgent(
    t,
    script((request) =>
      /^Give your verdict now\./.test(asked(request))
        ? verdict({ verdict: 'objections', objections: [OBJECTION] })
        : use([['read_file', { path: 'a.txt' }]]),
    ),
  );
  const { result, requests, context, guards } = await run({ ...urgent, limit: 12_000 });
  const reviews = requests.filter(isReview);
  assert.ok(reviews.length > 1 && reviews.length < 10, String(reviews.length));
  assert.equal(reviews.at(-1)?.tool_choice, 'none');
  assert.ok(context.budget.spent() <= 12_000, String(context.budget.spent()));
  assert.deepEqual(ofReview(result), [`objections, handed back once: ${OBJECTION}`]);
  assert.ok(
    OBJECTS.test(userTexts(requests.at(-1) ?? assert.fail())[1] ?? ''),
    'the run addressed the objection',
  );
  assert.ok(guards.includes('review warn'), guards.join());
});

test('a review does not see uncommitted state files, and a long diff is cut', async (t) => {
  const lines = [
    'mkdir -p .scratch',
    'echo secret | tee .scratch/note > PROGRESS.json',
    'seq 10000 | sed "s/$/ all work and no play/" > long.txt',
  ];
  const run = await scriptedAgent(t, (_, request) => {
    if (isReview(request)) return verdict({ verdict: 'ok' });
    const calls = lines.map((command): [string, object] => ['shell_exec', { command }]);
    return stepsSinceAsked(request) === 0 ? use(calls) : say('Done.');
  });
  const { requests } = await run(urgent);
  const review = requests.find(isReview) ?? assert.fail();
  const [told = ''] = userTexts(review);
  assert.doesNotMatch(told, /secret|\.scratch|PROGRESS/);
  assert.match(told, /\n\[the diff goes on: look at the files\]\n<\/diff>$/);
  assert.ok(told.length < 41_000, String(told.length));
});

test('a command that broke the repository costs the run nothing, with or without a review', async (t) => {
  const breaks = 'echo work > work.txt; echo broken > "$(git rev-parse --git-dir)/index"';
  const run = await scriptedAgent(
    t,
    (_, request) =>
      stepsSinceAsked(request) === 0 ? use([['shell_exec', { command: breaks }]]) : say('Done.'),
    {},
    { real: true },
  );
  for (const priority of ['normal', 'urgent'] as const) {
    const { result } = await run({ task: { priority }, contextId: priority });
    assert.deepEqual(result.artifacts.filesChanged, ['work.txt']);
  }
});

test('a verdict is read from the last review block', () => {
  const block = (json: string): string => `Text.\n\`\`\`review\n${json}\n\`\`\``;
  assert.deepEqual(readVerdict(block('{"verdict":"ok"}')), { verdict: 'ok', detail: 'Text.' });
  assert.deepEqual(readVerdict(`${block('nonsense')}\n${block('{"verdict":"ok"}')}`), {
    verdict: 'ok',
    detail: 'Text.',
  });
  assert.deepEqual(readVerdict(block('{"verdict":"not_judged"}')), {
    verdict: 'not_judged',
    detail: 'Text.',
  });
  for (const bad of ['', 'nonsense', '{"verdict":"fine"}', '{"objections":["x"]}', '[]']) {
    assert.deepEqual(readVerdict(block(bad)), { verdict: 'unreadable', detail: 'Text.' }, bad);
  }
  const many = readVerdict(
    block(JSON.stringify({ verdict: 'objections', objections: Array(50).fill('x'.repeat(1000)) })),
  );
  assert.ok('objections' in many && many.objections.length === 20);
  assert.ok(many.objections.every((line) => line.length <= 501));
});

test('the files of a diff are those that exist after it', () => {
  const diff = [
    'diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n-+++ b/no',
    'diff --git a/x.txt b/x.txt\n--- /dev/null\n+++ b/x.txt\n+line',
    'diff --git a/with space b/with space\n--- a/with space\t\n+++ b/with space\t\n+line',
  ].join('\n');
  assert.deepEqual(filesOfDiff(reviewMessage('a brief\n+++ b/brief.txt', diff)), ['x.txt', 'with space']);
});
