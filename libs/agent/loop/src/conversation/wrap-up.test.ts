import assert from 'node:assert/strict';
import { type RunCase, runCases, writes } from '../../testing/run-cases.ts';
import type { ScriptedRun } from '../../testing/scripted-run.ts';
import { asked, type ChatRequest, call, type Reply, say, use } from '../../testing/scripted-server.ts';

const WRAP_UP = /^Wrap up now\./;
const NAMED = '```outcome\n{"status":"partial","remaining":["b.txt"]}\n```';
const LATE = writes('late.txt', 'late');

/** Writes one file at every step, until it is told to wrap up. */
const writer =
  (last: Reply, usage?: object) =>
  (turn: number, request: ChatRequest): Reply =>
    WRAP_UP.test(asked(request))
      ? last
      : use([['write_file', { path: `${turn}.txt`, content: 'x '.repeat(40) }]], usage);

/** Only the last request is to wrap up, without tools. */
function isToldLast({ requests, result }: ScriptedRun): void {
  assert.deepEqual(
    requests.map((request) => [WRAP_UP.test(asked(request)), request.tool_choice === 'none']),
    requests.map((_, at) => Array(2).fill(at === requests.length - 1)),
  );
  assert.equal(result.artifacts.filesChanged.includes('late.txt'), false);
}

/** Wrap-ups that say nothing of use. */
const SILENT: readonly [what: string, last: Reply][] = [
  ['calls a tool', LATE],
  ['says nothing', { deltas: [], finish: 'stop' }],
  ['names nothing', say('I have written files.')],
  ['names an empty list', say('x\n```outcome\n{"status":"partial","remaining":[]}\n```')],
];

/** Reported usages; the budget counts its own estimate of each figure that cannot be. The last says what is metered. */
const REPORTED: readonly [
  what: string,
  usage: object | undefined,
  metered: 'nothing' | 'the input' | 'all',
][] = [
  ['no usage', undefined, 'nothing'],
  ['zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, 'nothing'],
  ['no output', { prompt_tokens: 900, completion_tokens: 0, total_tokens: 900 }, 'the input'],
  ['negative numbers', { prompt_tokens: -900, completion_tokens: -5, total_tokens: -905 }, 'nothing'],
  ['a negative output', { prompt_tokens: 900, completion_tokens: -5, total_tokens: 895 }, 'the input'],
  ['fractions', { prompt_tokens: 900.5, completion_tokens: 5.5 }, 'nothing'],
  ['a total alone', { total_tokens: 906 }, 'the input'],
  ['a huge input', { prompt_tokens: 1e12, completion_tokens: 5, total_tokens: 1e12 }, 'nothing'],
  ['a huge output', { prompt_tokens: 900, completion_tokens: 1e12, total_tokens: 1e12 }, 'the input'],
  ['far less output than it sent', { prompt_tokens: 900, completion_tokens: 1 }, 'all'],
  ['unsafe numbers', { prompt_tokens: 1e300, completion_tokens: 1e300 }, 'nothing'],
  ['plausible numbers', { prompt_tokens: 900, completion_tokens: 40 }, 'all'],
];

const FLOOD = 'and so on '.repeat(5000);
const CUT = 'the end of the answer: it was cut at the output limit';
/** A cut call is answered to the model, for which this budget has nothing left. */
const FLOODS: readonly [what: string, reply: Reply, remaining: string[]][] = [
  ['in small pieces', say(FLOOD), [CUT]],
  ['in one piece', { deltas: [{ content: FLOOD }], finish: 'stop' }, [CUT, 'the reply has no text']],
  ['in a call', writes('a.txt', FLOOD), []],
  ['and reports it', say(FLOOD, { prompt_tokens: 600, completion_tokens: 15_000 }), [CUT]],
];

/** What the model says after its last step, and how the task then ends. */
const AFTER_STEPS: readonly [
  what: string,
  last: Reply,
  status: string,
  remaining: readonly (string | RegExp)[],
][] = [
  ['names what remains', say(`Three files.\n${NAMED}`), 'partial', ['b.txt']],
  ['states that nothing remains', say('All.\n```outcome\n{"status":"done"}\n```'), 'done', []],
  [
    'names nothing',
    say('Three files.'),
    'partial',
    [/the limit of 3 steps is reached, and the model named nothing/],
  ],
  ['calls a tool', LATE, 'partial', [/the limit of 3 steps/]],
];

runCases([
  {
    name: 'near the end of the budget the model is told once to wrap up, without tools, and names what remains',
    script: writer(say(`Some files are there.\n${NAMED}`)),
    task: { limit: 6000 },
    expect: {
      status: 'partial',
      remaining: ['b.txt'],
      text: 'Some files are there.',
      guards: ['budget wrap_up'],
    },
    check(run) {
      isToldLast(run);
      assert.ok(run.result.artifacts.filesChanged.length > 1);
    },
  },
  ...SILENT.map(
    ([what, last]): RunCase => ({
      name: `a wrap-up that ${what} still ends partial, with a text about what remains`,
      script: writer(last),
      task: { limit: 6000 },
      expect: { status: 'partial', remaining: [/beyond the work so far \(wrote 1\.txt, 2\.txt.*\)/] },
      check: isToldLast,
    }),
  ),
  {
    name: 'a wrap-up that states that nothing remains ends done, with the unverified writes named',
    script: writer(say('All there.\n```outcome\n{"status":"done"}\n```')),
    task: { limit: 6000 },
    expect: { status: 'done', nextSteps: [/^verify 1\.txt.*nothing was checked after the last write$/] },
  },
  {
    name: 'a run of one step can use all of a small budget',
    script: [say('It is 4.')],
    task: { limit: 1500, brief: '2+2?' },
    expect: { status: 'done', text: 'It is 4.', requests: 1 },
  },
  {
    name: 'a tool result too large for the remaining budget is truncated for the wrap-up',
    script(turn, request) {
      if (WRAP_UP.test(asked(request))) return say(`Enough.\n${NAMED}`);
      if (turn === 1) return writes('big.txt', 'word '.repeat(300));
      return use(Array.from({ length: 14 }, (_, at) => ['read_file', { path: 'big.txt', limit: at + 1 }]));
    },
    task: { limit: 9000 },
    expect: { status: 'partial', remaining: ['b.txt'] },
    check: ({ requests }) => assert.match(JSON.stringify(requests.at(-1)?.messages), /cut to save tokens/),
  },
  ...REPORTED.map(
    ([what, usage, metered]): RunCase => ({
      name: `the budget holds when a provider reports ${what}`,
      script: writer(say(`Partly.\n${NAMED}`, usage), usage),
      task: { limit: 6000 },
      expect: {
        status: 'partial',
        remaining: ['b.txt'],
        source: metered === 'all' ? 'metered' : 'estimated',
      },
      check({ context, ratios, requests }) {
        assert.ok(context.budget.spent() > 2000, String(context.budget.spent()));
        assert.equal(ratios.length, metered === 'nothing' ? 0 : requests.length);
        assert.ok(
          ratios.every((ratio) => ratio > 0.3 && ratio < 3),
          ratios.join(),
        );
      },
    }),
  ),
  ...FLOODS.map(
    ([what, reply, remaining]): RunCase => ({
      name: `an answer that exceeds max_tokens ${what} is cut, and costs no more than allowed`,
      script: [reply],
      task: { limit: 2500, brief: 'Go on.' },
      expect: {
        status: remaining.length > 0 ? 'partial' : 'error',
        error: remaining.length > 0 ? undefined : 'budget_exhausted',
        remaining,
        source: 'estimated',
        requests: 1,
        files: [],
      },
      check: ({ context: { budget } }) => assert.ok(budget.spent() > 2000, String(budget.spent())),
    }),
  ),
  {
    name: 'all calls of an answer are carried out, and results that do not fit the window are shortened',
    script: [
      use(Array.from({ length: 20 }, (_, at) => ['shell_exec', { command: `seq ${2000 + at}` }])),
      say('Counted.'),
    ],
    config: { context_window: 10_000, hooks: { compactSuccessOutput: false } },
    expect: { status: 'done', requests: 2 },
    check({ requests, result }) {
      assert.equal(result.evidence?.length, 20);
      const results = requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
      assert.equal(results.length, 20);
      for (const { content } of results)
        assert.match(String(content), /bytes left out; the full output is in \.scratch\/outputs\//);
    },
  },
  {
    name: 'a conversation that fills the context window whatever is pruned leads to a wrap-up',
    script(turn, request) {
      if (/^Summarize/.test(asked(request))) return { deltas: [], finish: 'stop' };
      if (WRAP_UP.test(asked(request))) return say(`Some files are there.\n${NAMED}`);
      const content = 'and so on, with one more word for each thing that I think of '.repeat(20);
      return {
        deltas: [{ content }, call(`c${turn}`, 'write_file', { path: `${turn}.txt`, content: 'x' })],
        finish: 'tool_calls',
      };
    },
    config: { context_window: 8000 },
    expect: { status: 'partial', remaining: ['b.txt'], guards: ['window wrap_up'] },
    check: ({ requests }) =>
      assert.match(
        asked(requests.at(-1) ?? assert.fail()),
        /^Wrap up now\. The conversation fills the context window/,
      ),
  },
  {
    name: 'a task that does not fit the window, and a wrap-up for that reason that names nothing, say so',
    script: [say('x')],
    config: { context_window: 3000 },
    task: { brief: 'word '.repeat(4000) },
    expect: {
      requests: 0,
      message:
        /the task does not fit the model's context window of 3000 tokens: with the prompt and the tools it takes about \d+ tokens/,
    },
  },
  ...AFTER_STEPS.map(
    ([what, last, status, remaining]): RunCase => ({
      name: `after the last step the model wraps up, without tools: it ${what}`,
      script: writer(last),
      config: { limits: { max_steps: 3 } },
      expect: { status, remaining, requests: 4, guards: ['steps wrap_up'] },
      asks: { 4: /^Wrap up now\. All 3 steps are used up/ },
      check: isToldLast,
    }),
  ),
  {
    name: 'a budget that does not cover a wrap-up after the last step ends the run there',
    script: [
      use([['write_file', { path: 'a.txt', content: 'x' }]], { prompt_tokens: 600, completion_tokens: 500 }),
    ],
    config: { limits: { max_steps: 1 } },
    task: { limit: 1500 },
    expect: {
      status: 'partial',
      requests: 1,
      guards: ['steps stop'],
      remaining: [/the limit of 1 steps is reached$/],
    },
  },
]);
