import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Priority } from '@hermes-fleet/protocol/handshake';
import { block, makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { reads, runCases, runs, writes } from '../../testing/run-cases.ts';
import { isReview, scriptedAgent, stepsSinceAsked, userTexts } from '../../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';
import type { JournalEntry } from '../run/run-state.ts';
import { doneSoFar, evidenceOf, lastChange, maxNudges } from './evidence.ts';

const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const;
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
    PRIORITIES.map((priority) => [
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
const write = writes('a.txt', 'A');
const look = reads('a.txt');

/** The model's steps at the start, and after each verification prompt. */
const HABITS = {
  'writes nothing': [[], []],
  'writes and looks': [[write, look], []],
  'writes and runs a check': [[write, runs('grep -q A a.txt')], []],
  'writes and checks when told': [[write], [look]],
  'writes, and again when told': [[write], [write]],
  'writes and never checks': [[write], []],
  'writes and fails its check': [[write, runs('exit 1')], []],
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

/** Per habit: verification prompts by priority, the priorities at which nothing is verified, and the doubt that remains. */
const ROWS: readonly [
  keyof typeof HABITS,
  told: number[],
  unverified: readonly Priority[],
  doubt?: string,
][] = [
  ['writes nothing', [0, 0, 0, 0], []],
  ['writes and looks', [0, 0, 0, 0], []],
  ['writes and runs a check', [0, 0, 0, 0], []],
  ['writes and checks when told', [0, 1, 1, 1], ['low']],
  ['writes, and again when told', [0, 2, 3, 3], PRIORITIES],
  ['writes and never checks', [0, 2, 3, 3], PRIORITIES],
  ['writes and fails its check', [0, 2, 3, 3], PRIORITIES, FAILED],
];

for (const [habit, told, unverified, doubt] of ROWS)
  test(`a model that ${habit}, by priority`, async (t) => {
    const run = await scriptedAgent(t, script(habit));
    for (const [at, priority] of PRIORITIES.entries()) {
      const { result, requests, guards } = await run({ task: { priority }, contextId: priority });
      const own = requests.filter((request) => !isReview(request));
      const reviews = at > 1 && habit !== 'writes nothing' ? 1 : 0;
      const ending = {
        told: userTexts(own.at(-1) ?? assert.fail()).filter((text) => TOLD.test(text)).length,
        guards: guards.filter((guard) => guard.startsWith('verify')),
        reviews: requests.length - own.length,
        reviewed: result.evidence?.filter(({ kind }) => kind === 'review').length,
        status: result.status,
        remaining: result.remaining,
        nextSteps: result.nextSteps,
      };
      assert.deepEqual(
        ending,
        {
          told: told[at],
          guards: Array(told[at]).fill('verify warn'),
          reviews,
          reviewed: reviews,
          status: doubt === undefined ? 'done' : 'partial',
          remaining: doubt && [doubt],
          nextSteps: unverified.includes(priority) ? [UNVERIFIED] : [],
        },
        priority,
      );
    }
  });

runCases([
  {
    name: 'a model that admits unfinished work gets no verification prompt',
    script: [write, say('Half.\n```outcome\n{"status":"partial","remaining":["b.txt"]}\n```')],
    task: { task: { priority: 'urgent' } },
    expect: { status: 'partial', remaining: ['b.txt'], requests: 2, nextSteps: [UNVERIFIED] },
  },
  {
    name: 'reading past the end of a file verifies nothing',
    script: [write, use([['read_file', { path: 'a.txt', offset: 1000 }]]), say('Done.')],
    task: { task: { priority: 'low' } },
    expect: { evidence: [], nextSteps: [UNVERIFIED] },
  },
]);

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
