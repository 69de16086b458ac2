import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Priority } from '@hermes-fleet/protocol';
import type { JournalEntry } from '../run/run-state.ts';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';
import { isReview, scriptedAgent, stepsSinceAsked, userTexts } from '../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../testing/scripted-server.ts';
import { doneSoFar, evidenceOf, lastChange, maxNudges } from './evidence.ts';

const wrote = (detail: string, ok = true): JournalEntry => ({ tool: 'write_file', ok, detail });
const edited = (detail: string): JournalEntry => ({ tool: 'edit_file', ok: true, detail });
const read = (detail: string, ok = true): JournalEntry => ({ tool: 'read_file', ok, detail });
const ran = (detail: string, exitCode: number | null = 0): JournalEntry => ({
  tool: 'shell_exec',
  ok: exitCode === 0,
  detail,
  exit_code: exitCode,
});

test('evidence lists commands, and files read again after they were written', () => {
  const journal = [ran('ls'), read('a'), wrote('a'), read('b'), read('a'), ran('make', 2), ran('x', null)];
  assert.deepEqual(evidenceOf(journal), [
    { kind: 'command', detail: 'ls', exitCode: 0, afterWrite: false },
    { kind: 'reread', detail: 'a', afterWrite: true },
    { kind: 'command', detail: 'make', exitCode: 2, afterWrite: true },
    { kind: 'command', detail: 'x', exitCode: null, afterWrite: true },
  ]);
  const again = [wrote('a'), wrote('b'), ran('make'), read('a'), read('b'), edited('b'), ran('ls')];
  assert.deepEqual(
    evidenceOf(again).map(({ detail, afterWrite }) => `${detail} ${afterWrite}`),
    ['make false', 'a true', 'b false', 'ls true'],
    'a read before the last write is no evidence for it',
  );
  assert.equal(evidenceOf([ran('y'.repeat(10_000))])[0]?.detail.length, 501);
  assert.equal(evidenceOf(Array.from({ length: 500 }, () => ran('x'))).length, 100);
});

test('doneSoFar summarizes the work in one line', () => {
  assert.equal(doneSoFar([]), undefined);
  assert.equal(doneSoFar([wrote('a', false), ran('x', 1), read('b', false)]), undefined);
  assert.equal(doneSoFar([read('b')]), 'looked at the workspace');
  assert.equal(doneSoFar([wrote('a'), edited('a'), ran('make\nmore')]), 'wrote a; ran make');
});

test('a process that did not start is the last change', () => {
  const started = (ok: boolean): JournalEntry => ({ tool: 'shell_start', ok, detail: 'npm start' });
  assert.equal(lastChange([wrote('a'), started(false), ran('ls')])?.tool, 'shell_start');
  assert.equal(lastChange([ran('make', 2), started(true)])?.detail, 'make', 'one that runs proves nothing');
});

test('a failed write is no last change where the file was written before, if only in part, and is read since', () => {
  const begun: JournalEntry = { ...wrote('a', false), unknown: true };
  for (const seen of [ran('echo A; cat a b'), read('a')])
    for (const [earlier, last] of [
      [wrote('a'), wrote('a')],
      [begun, undefined],
    ] as const)
      assert.deepEqual(lastChange([earlier, wrote('a', false), seen]), last);
  for (const journal of [
    [wrote('a', false), ran('cat a')],
    [wrote('b'), wrote('a', false), ran('cat b')],
    [wrote('a'), wrote('a', false), ran('ls')],
    [begun, ran('ls')],
  ])
    assert.equal(lastChange(journal)?.ok, false, JSON.stringify(journal));
});

test('a low-priority task gets a verification prompt only for a structured reply', () => {
  assert.deepEqual(
    (['low', 'normal', 'high', 'urgent'] as const).map((priority) => [
      maxNudges(priority, 'prose'),
      maxNudges(priority, 'json'),
      maxNudges(priority, 'structured'),
    ]),
    [
      [0, 0, 1],
      [2, 2, 2],
      [3, 3, 3],
      [3, 3, 3],
    ],
  );
});

const TOLD = /^Not verified yet\. Nothing was checked after the last write of a\.txt\./;
const OK = say('Fine.\n```review\n{"verdict":"ok"}\n```');
const write = use([['write_file', { path: 'a.txt', content: 'A' }]]);
const look = use([['read_file', { path: 'a.txt' }]]);
const command = (line: string): Reply => use([['shell_exec', { command: line }]]);

/** The model's steps at the start, and after each verification prompt. */
const HABITS = {
  'writes nothing': [[], []],
  'writes and looks': [[write, look], []],
  'writes and runs a check': [[write, command('grep -q A a.txt')], []],
  'writes and checks when told': [[write], [look]],
  'writes, and again when told': [[write], [write]],
  'writes and never checks': [[write], []],
  'writes and fails its check': [[write, command('exit 1')], []],
} as const satisfies Record<string, readonly [readonly Reply[], readonly Reply[]]>;

function script(habit: keyof typeof HABITS): (turn: number, request: ChatRequest) => Reply {
  return (_, request) => {
    if (isReview(request)) return OK;
    const [atFirst, whenTold] = HABITS[habit];
    const does = TOLD.test(userTexts(request).at(-1) ?? '') ? whenTold : atFirst;
    return does[stepsSinceAsked(request)] ?? say('Done.');
  };
}

const UNVERIFIED = 'verify a.txt: nothing was checked after the last write';
const FAILED = 'the last shell_exec failed: exit 1';

/** Per habit and priority: verification prompts, reviews, final status, and remaining work. */
const ROWS: [
  habit: keyof typeof HABITS,
  priority: Priority,
  told: number,
  reviews: number,
  ends: string,
  says: string[],
][] = [
  ['writes nothing', 'low', 0, 0, 'done', []],
  ['writes nothing', 'normal', 0, 0, 'done', []],
  ['writes nothing', 'high', 0, 0, 'done', []],
  ['writes nothing', 'urgent', 0, 0, 'done', []],
  ['writes and looks', 'low', 0, 0, 'done', []],
  ['writes and looks', 'normal', 0, 0, 'done', []],
  ['writes and looks', 'high', 0, 1, 'done', []],
  ['writes and looks', 'urgent', 0, 1, 'done', []],
  ['writes and runs a check', 'low', 0, 0, 'done', []],
  ['writes and runs a check', 'normal', 0, 0, 'done', []],
  ['writes and runs a check', 'high', 0, 1, 'done', []],
  ['writes and runs a check', 'urgent', 0, 1, 'done', []],
  ['writes and checks when told', 'low', 0, 0, 'done', [UNVERIFIED]],
  ['writes and checks when told', 'normal', 1, 0, 'done', []],
  ['writes and checks when told', 'high', 1, 1, 'done', []],
  ['writes and checks when told', 'urgent', 1, 1, 'done', []],
  ['writes, and again when told', 'low', 0, 0, 'done', [UNVERIFIED]],
  ['writes, and again when told', 'normal', 2, 0, 'done', [UNVERIFIED]],
  ['writes, and again when told', 'high', 3, 1, 'done', [UNVERIFIED]],
  ['writes, and again when told', 'urgent', 3, 1, 'done', [UNVERIFIED]],
  ['writes and never checks', 'low', 0, 0, 'done', [UNVERIFIED]],
  ['writes and never checks', 'normal', 2, 0, 'done', [UNVERIFIED]],
  ['writes and never checks', 'high', 3, 1, 'done', [UNVERIFIED]],
  ['writes and never checks', 'urgent', 3, 1, 'done', [UNVERIFIED]],
  ['writes and fails its check', 'low', 0, 0, FAILED, [UNVERIFIED]],
  ['writes and fails its check', 'normal', 2, 0, FAILED, [UNVERIFIED]],
  ['writes and fails its check', 'high', 3, 1, FAILED, [UNVERIFIED]],
  ['writes and fails its check', 'urgent', 3, 1, FAILED, [UNVERIFIED]],
];

for (const habit of Object.keys(HABITS) as (keyof typeof HABITS)[]) {
  test(`a model that ${habit}, by priority`, async (t) => {
    const run = await scriptedAgent(t, script(habit));
    for (const [, priority, told, reviews, ends, says] of ROWS.filter(([name]) => name === habit)) {
      const { result, requests, guards } = await run({ task: { priority }, contextId: priority });
      const own = requests.filter((request) => !isReview(request));
      const last = userTexts(own.at(-1) ?? assert.fail());
      assert.equal(last.filter((text) => TOLD.test(text)).length, told, priority);
      assert.equal(requests.length - own.length, reviews, priority);
      const asked = guards.filter((guard) => guard.startsWith('verify'));
      assert.deepEqual(asked, Array(told).fill('verify warn'), priority);
      const { status, remaining = [] } = result;
      assert.deepEqual(
        [status, ...remaining],
        ends === 'done' ? ['done'] : ['partial', ends],
        JSON.stringify(result),
      );
      assert.deepEqual(result.nextSteps, says, priority);
      const kinds = result.evidence?.map(({ kind }) => kind) ?? [];
      assert.equal(kinds.filter((kind) => kind === 'review').length, reviews, priority);
    }
  });
}

test('a task without a priority counts as normal', async (t) => {
  const run = await scriptedAgent(t, script('writes and never checks'));
  const { guards, result } = await run();
  assert.deepEqual([guards, result.nextSteps], [['verify warn', 'verify warn'], [UNVERIFIED]]);
});

test('an unverified structured reply gets one prompt even at low priority, and is partial', async (t) => {
  const run = await scriptedAgent(t, script('writes and never checks'));
  const { guards, result } = await run({ task: { priority: 'low', replySchema: 'structured' } });
  assert.deepEqual(
    [guards, result.status, result.remaining],
    [['verify warn'], 'partial', ['nothing was verified after the last write']],
  );
});

test('no verification prompt is sent if the budget cannot cover it, and the result says so', async (t) => {
  const run = await scriptedAgent(t, script('writes and never checks'));
  // Enough for two steps without a wrap-up, but not for two more.
  const twoSteps = await run({ limit: 5000, task: { priority: 'low' }, contextId: 'probe' });
  const limit = Math.round(1.75 * twoSteps.context.budget.spent()) + 600;
  const { result, guards, requests, context } = await run({ limit, task: { priority: 'urgent' } });
  assert.deepEqual([result.status, guards, requests.length], ['done', [], 2], JSON.stringify(result));
  assert.equal(result.nextSteps[0], UNVERIFIED);
  assert.match(result.nextSteps[1] ?? '', /^review the changes: the second check was left out \(.*budget/);
  assert.ok(context.budget.spent() <= limit);
});

test('a model that admits unfinished work gets no verification prompt', async (t) => {
  const unfinished = say('Half.\n```outcome\n{"status":"partial","remaining":["b.txt"]}\n```');
  const run = await scriptedAgent(t, (turn) => (turn === 1 ? write : unfinished));
  const { result, requests } = await run({ task: { priority: 'urgent' } });
  assert.deepEqual([result.status, result.remaining, requests.length], ['partial', ['b.txt'], 2]);
  assert.deepEqual(result.nextSteps, [UNVERIFIED]);
});

test('reading past the end of a file verifies nothing', async (t) => {
  const past = use([['read_file', { path: 'a.txt', offset: 1000 }]]);
  const run = await scriptedAgent(t, (turn) => [write, past][turn - 1] ?? say('Done.'));
  const { result } = await run({ task: { priority: 'low' } });
  assert.deepEqual([result.evidence, result.nextSteps], [[], [UNVERIFIED]], JSON.stringify(result));
});

test('the result says why the last change failed', async (t) => {
  const edit = { path: 'gone.txt', old_text: 'a', new_text: 'b' };
  for (const [call, why] of [
    [['edit_file', edit], 'there is no such file or directory'],
    [['write_file', { path: 'a.txt' }], 'wrong input: '],
  ] as [[string, object], string][]) {
    const run = await scriptedAgent(t, (turn) => (turn === 1 ? use([call]) : say('Done.')));
    const { result } = await run();
    assert.equal(result.status, 'partial');
    assert.equal(
      result.remaining?.[0]?.startsWith(`the last ${call[0]} failed: ${why}`),
      true,
      result.remaining?.[0],
    );
  }
});

test('a claimed pull request is reported as an unconfirmed claim', async (t) => {
  const pr = 'https://git.invalid/fleet/pull/7';
  const run = await scriptedAgent(t, () =>
    say(`Opened it.\n\`\`\`outcome\n{"status":"done","pr":"${pr}"}\n\`\`\``),
  );
  const { result, context } = await run();
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.equal(result.artifacts.pr, null);
  assert.deepEqual(result.evidence, [{ kind: 'claimed', detail: `pull request ${pr}` }]);
  assert.deepEqual(result.nextSteps, [
    `confirm the pull request ${pr}: the model claims it, and nothing confirms it`,
  ]);
  assert.equal(result.text, 'Opened it.');
  assert.doesNotMatch(JSON.stringify(context.events), /git\.invalid/);
});

const JUDGES_NOTHING =
  'review the changes: the second check did not judge them (offline/runbook looks and does not judge: a.txt is there.)';

for (const [priority, reviewed] of [
  ['low', false],
  ['normal', false],
  ['high', true],
  ['urgent', true],
] as const) {
  test(`offline/runbook at ${priority} priority reads what it wrote${reviewed ? ' and the diff' : ' once'}`, async (t) => {
    const agent = await makeAgent(t);
    const brief = block('a.txt', 'A');
    const result = await agent.executor.run(makeTask(brief, { task: { priority } }), makeContext());
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.deepEqual(
      result.evidence?.map(({ kind, detail }) => `${kind} ${detail}`),
      [
        'reread a.txt',
        ...(reviewed ? ['review not judged: offline/runbook looks and does not judge: a.txt is there.'] : []),
      ],
    );
    assert.deepEqual(result.nextSteps, reviewed ? [JUDGES_NOTHING] : []);
    assert.match(result.text ?? '', /^Done, as the brief says:\n- wrote a\.txt\n- read back a\.txt: there$/);
  });
}

test('offline/runbook retries a file that it cannot read back, and reports it as unverified', async (t) => {
  for (const [priority, told] of [
    ['low', 0],
    ['normal', 2],
    ['high', 3],
  ] as const) {
    const guards: string[] = [];
    const agent = await makeAgent(t, {}, { onGuard: (guard) => guards.push(guard) });
    const task = makeTask(block('a.bin', 'A\0'), { task: { priority } });
    const result = await agent.executor.run(task, makeContext());
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(guards.filter((guard) => guard === 'verify').length, told);
    assert.equal(result.nextSteps[0], 'verify a.bin: nothing was checked after the last write');
    assert.equal(result.text?.match(/read back a\.bin: the file is binary/g)?.length, 1 + told);
  }
});
