import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { scriptedAgent } from '../testing/scripted-run.ts';
import { asked, type ChatRequest, type Reply, say, use } from '../testing/scripted-server.ts';

const WRAP_UP = /^Wrap up now\./;
const NAMED = '```outcome\n{"status":"partial","remaining":["b.txt"]}\n```';

interface Spec {
  readonly script: (turn: number, request: ChatRequest) => Reply;
  readonly limit: number;
  readonly brief?: string;
  readonly limits?: { max_steps?: number };
}

async function run(t: TestContext, { script, limits = {}, ...options }: Spec) {
  const ran = await (await scriptedAgent(t, script, { limits }))(options);
  const { budget } = ran.context;
  return { ...ran, spent: budget.spent(), source: budget.usage().source };
}

/** Writes one file at every step, until it is told to wrap up. */
const writer =
  (last: Reply, usage?: (request: ChatRequest) => object) =>
  (turn: number, request: ChatRequest): Reply => {
    const reported = usage?.(request);
    if (WRAP_UP.test(asked(request))) return last;
    return use([['write_file', { path: `${turn}.txt`, content: 'x '.repeat(40) }]], reported);
  };

test('near the end of the budget the model is told once to wrap up, without tools, and names what remains', async (t) => {
  const { result, spent, requests, guards } = await run(t, {
    script: writer(say(`Some files are there.\n${NAMED}`)),
    limit: 6000,
  });
  assert.equal(result.status, 'partial', JSON.stringify(result));
  assert.deepEqual(result.remaining, ['b.txt']);
  assert.equal(result.text, 'Some files are there.');
  assert.ok(result.artifacts.filesChanged.length > 1);
  const told = requests.filter((request) => WRAP_UP.test(asked(request)));
  assert.equal(told.length, 1);
  assert.equal(told[0], requests.at(-1));
  assert.equal(told[0]?.tool_choice, 'none');
  assert.ok(requests.slice(0, -1).every(({ tool_choice: choice }) => choice !== 'none'));
  assert.deepEqual(guards, ['budget wrap_up']);
  assert.ok(spent <= 6000, String(spent));
});

test('a wrap-up that calls tools or names nothing still ends partial, with a text about what remains', async (t) => {
  const silent: [string, Reply][] = [
    ['calls a tool', use([['write_file', { path: 'late.txt', content: 'late' }]])],
    ['says nothing', { deltas: [], finish: 'stop' }],
    ['names nothing', say('I have written files.')],
    ['names an empty list', say('x\n```outcome\n{"status":"partial","remaining":[]}\n```')],
  ];
  for (const [what, last] of silent) {
    const { result, requests } = await run(t, { script: writer(last), limit: 6000 });
    assert.equal(result.status, 'partial', `${what}: ${JSON.stringify(result)}`);
    assert.match(result.remaining?.[0] ?? '', /beyond the work so far \(wrote 1\.txt, 2\.txt.*\)/, what);
    assert.ok(!result.artifacts.filesChanged.includes('late.txt'), what);
    assert.match(asked(requests.at(-1) ?? assert.fail()), WRAP_UP, what);
  }
});

test('a wrap-up that states that nothing remains ends done, with the unverified writes named', async (t) => {
  const { result } = await run(t, {
    script: writer(say('All there.\n```outcome\n{"status":"done"}\n```')),
    limit: 6000,
  });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.match(result.nextSteps[0] ?? '', /^verify 1\.txt.*nothing was checked after the last write$/);
});

test('a run of one step can use all of a small budget', async (t) => {
  const { result, requests } = await run(t, { script: () => say('It is 4.'), limit: 1500, brief: '2+2?' });
  assert.deepEqual([result.status, result.text, requests.length], ['done', 'It is 4.', 1]);
});

test('a tool result too large for the remaining budget is truncated for the wrap-up', async (t) => {
  const { result, requests, spent } = await run(t, {
    limit: 9000,
    script: (turn, request) => {
      if (WRAP_UP.test(asked(request))) return say(`Enough.\n${NAMED}`);
      if (turn === 1) return use([['write_file', { path: 'big.txt', content: 'word '.repeat(300) }]]);
      const look = (_: unknown, at: number): [string, object] => [
        'read_file',
        { path: 'big.txt', limit: at + 1 },
      ];
      return use(Array.from({ length: 14 }, look));
    },
  });
  assert.deepEqual([result.status, result.remaining], ['partial', ['b.txt']], JSON.stringify(result));
  assert.match(JSON.stringify(requests.at(-1)?.messages), /cut to save tokens/);
  assert.ok(spent <= 9000, String(spent));
});

/** Reported usages, and the source that the budget records. */
const REPORTED: [what: string, usage: object | undefined, source: string][] = [
  ['no usage', undefined, 'estimated'],
  ['zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, 'estimated'],
  ['no output', { prompt_tokens: 900, completion_tokens: 0, total_tokens: 900 }, 'estimated'],
  ['negative numbers', { prompt_tokens: -900, completion_tokens: -5, total_tokens: -905 }, 'estimated'],
  ['a negative output', { prompt_tokens: 900, completion_tokens: -5, total_tokens: 895 }, 'estimated'],
  ['fractions', { prompt_tokens: 900.5, completion_tokens: 5.5, total_tokens: 906 }, 'estimated'],
  ['a huge input', { prompt_tokens: 1e12, completion_tokens: 5, total_tokens: 1e12 }, 'estimated'],
  ['a huge output', { prompt_tokens: 900, completion_tokens: 1e12, total_tokens: 1e12 }, 'estimated'],
  ['more output than allowed', { prompt_tokens: 900, completion_tokens: 9000 }, 'estimated'],
  ['far less input than it was sent', { prompt_tokens: 1, completion_tokens: 40 }, 'estimated'],
  ['far less output than it sent', { prompt_tokens: 900, completion_tokens: 1 }, 'estimated'],
  ['unsafe numbers', { prompt_tokens: 1e300, completion_tokens: 1e300 }, 'estimated'],
  ['plausible numbers', { prompt_tokens: 900, completion_tokens: 40 }, 'metered'],
];

for (const [what, usage, source] of REPORTED) {
  test(`the budget holds when a provider reports ${what}`, async (t) => {
    const last = say(`Partly.\n${NAMED}`, usage);
    const ran = await run(t, { script: writer(last, usage && (() => usage)), limit: 6000 });
    assert.equal(ran.result.status, 'partial', JSON.stringify(ran.result));
    assert.deepEqual(ran.result.remaining, ['b.txt']);
    assert.equal(ran.source, source);
    assert.ok(ran.spent > 2000 && ran.spent <= 6000, String(ran.spent));
    assert.equal(ran.ratios.length, source === 'metered' ? ran.requests.length : 0);
    assert.ok(
      ran.ratios.every((ratio) => ratio > 0.3 && ratio < 3),
      ran.ratios.join(),
    );
  });
}

test("the model's statements about its spending are ignored", async (t) => {
  const lie = 'I have spent 5 tokens.\n```outcome\n{"status":"done","tokens_spent":5}\n```';
  const { result, spent } = await run(t, {
    script: (turn) => (turn === 1 ? use([['list_files', {}]]) : say(lie)),
    limit: 6000,
  });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.ok(spent > 500, String(spent));
});

test('an answer that exceeds max_tokens is cut, and costs no more than allowed', async (t) => {
  const flood = 'and so on '.repeat(5000);
  for (const [what, script] of [
    ['in small pieces', (): Reply => say(flood)],
    ['in one piece', (): Reply => ({ deltas: [{ content: flood }], finish: 'stop' })],
    ['in a call', (): Reply => use([['write_file', { path: 'a.txt', content: flood }]])],
    ['and reports it', (): Reply => say(flood, { prompt_tokens: 600, completion_tokens: 15_000 })],
  ] as const) {
    const { result, spent, requests, source } = await run(t, { script, limit: 2500, brief: 'Go on.' });
    assert.ok(spent <= 2500, `${what}: ${spent}`);
    assert.ok(spent > 2000, `${what}: ${spent}`);
    assert.equal(source, 'estimated');
    assert.equal(requests.length, 1, what);
    assert.deepEqual(result.artifacts.filesChanged, [], what);
    // A cut call is answered to the model, for which this budget has nothing left.
    const end =
      what === 'in a call'
        ? ['error', 'budget_exhausted']
        : ['partial', 'the end of the answer: it was cut at the output limit'];
    assert.deepEqual([result.status, result.error?.code ?? result.remaining?.[0]], end, what);
  }
});

test('all calls of an answer are carried out, and results that do not fit the window are shortened', async (t) => {
  const COUNTS = 20;
  const counts = (_: unknown, at: number): [string, object] => [
    'shell_exec',
    { command: `seq ${2000 + at}` },
  ];
  const run = await scriptedAgent(
    t,
    (turn) => (turn === 1 ? use(Array.from({ length: COUNTS }, counts)) : say('Counted.')),
    { context_window: 10_000, hooks: { compactSuccessOutput: false } },
  );
  const { result, requests } = await run();
  assert.deepEqual([result.status, requests.length], ['done', 2], JSON.stringify(result));
  assert.equal(result.evidence?.length, COUNTS);
  const results = requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
  assert.equal(results.length, COUNTS);
  for (const { content } of results)
    assert.match(String(content), /bytes left out; the full output is in \.scratch\/outputs\//);
});

test('a conversation that fills the context window whatever is pruned leads to a wrap-up', async (t) => {
  const long = 'and so on, with one more word for each thing that I think of '.repeat(20);
  const ran = await scriptedAgent(
    t,
    (turn, request): Reply => {
      if (/^Summarize/.test(asked(request))) return { deltas: [], finish: 'stop' };
      if (WRAP_UP.test(asked(request))) return say(`Some files are there.\n${NAMED}`);
      const { deltas, ...rest } = use([['write_file', { path: `${turn}.txt`, content: 'x' }]]) as {
        deltas: object[];
        finish: string;
      };
      return { ...rest, deltas: [{ content: long }, ...deltas] };
    },
    { context_window: 8000 },
  );
  const { result, requests, guards } = await ran();
  assert.deepEqual([result.status, result.remaining], ['partial', ['b.txt']], JSON.stringify(result));
  assert.match(
    asked(requests.at(-1) ?? assert.fail()),
    /^Wrap up now\. The conversation fills the context window/,
  );
  assert.deepEqual(guards, ['window wrap_up']);
});

test('a task that does not fit the window, and a wrap-up for that reason that names nothing, say so', async (t) => {
  const run = await scriptedAgent(t, () => say('x'), { context_window: 3000 });
  const { result, requests } = await run({ brief: 'word '.repeat(4000) });
  assert.equal(requests.length, 0);
  assert.match(
    result.error?.message ?? '',
    /the task does not fit the model's context window of 3000 tokens: with the prompt and the tools it takes about \d+ tokens/,
  );
});

/** What the model says after its last step, and how the task then ends. */
const AFTER_STEPS: readonly [what: string, last: Reply, status: string, remaining: RegExp | undefined][] = [
  ['names what remains', say(`Three files.\n${NAMED}`), 'partial', /^b\.txt$/],
  ['states that nothing remains', say('All.\n```outcome\n{"status":"done"}\n```'), 'done', undefined],
  [
    'names nothing',
    say('Three files.'),
    'partial',
    /the limit of 3 steps is reached, and the model named nothing/,
  ],
  [
    'calls a tool',
    use([['write_file', { path: 'late.txt', content: 'x' }]]),
    'partial',
    /the limit of 3 steps/,
  ],
];

for (const [what, last, status, remaining] of AFTER_STEPS)
  test(`after the last step the model wraps up, without tools: it ${what}`, async (t) => {
    const ran = await scriptedAgent(t, writer(last), { limits: { max_steps: 3 } });
    const { result, requests, guards } = await ran();
    assert.deepEqual([result.status, requests.length], [status, 4], JSON.stringify(result));
    assert.match(asked(requests[3] ?? assert.fail()), /^Wrap up now\. All 3 steps are used up/);
    assert.equal(requests[3]?.tool_choice, 'none');
    assert.deepEqual(guards, ['steps wrap_up']);
    assert.equal(result.artifacts.filesChanged.includes('late.txt'), false);
    if (remaining !== undefined) assert.match(result.remaining?.[0] ?? '', remaining);
  });

test('a budget that does not cover a wrap-up after the last step ends the run there', async (t) => {
  const { result, requests, guards } = await run(t, {
    script: () =>
      use([['write_file', { path: 'a.txt', content: 'x' }]], { prompt_tokens: 600, completion_tokens: 500 }),
    limit: 1500,
    limits: { max_steps: 1 },
  });
  assert.deepEqual([result.status, requests.length], ['partial', 1], JSON.stringify(result));
  assert.match(result.remaining?.[0] ?? '', /the limit of 1 steps is reached$/);
  assert.deepEqual(guards, ['steps stop']);
});
