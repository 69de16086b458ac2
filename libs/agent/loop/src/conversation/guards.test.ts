import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type RunCase, reads, runCases, runs, writes } from '../../testing/run-cases.ts';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { asked, type Reply, say, use } from '../../testing/scripted-server.ts';

const DONE = say('Done.');
const NOT_VERIFIED = /^Not verified yet\. Nothing was checked after the last write of a\.sh\./;
const UNVERIFIED = 'verify a.js: nothing was checked after the last write';
const LIE = {
  status: 'done',
  tokens_spent: 3,
  files_changed: ['made-up.ts'],
  pr: 'https://git.invalid/pull/1',
  evidence: [{ kind: 'command', detail: 'npm test', exit_code: 0 }],
};

/** Alternates between two files, always with new content. */
const pingPong = (turn: number): Reply => writes(turn % 2 === 1 ? 'a.js' : 'b.js', `${turn}`);

type Task = Partial<TaskDispatch['task']>;
const STRUCTURED = { replySchema: 'structured' } as const;
/** Work that nothing checks: whether the guard is on, how often it asks for a check, and how the task ends. */
const UNCHECKED: readonly [what: string, isOn: boolean, task: Task, told: number, status: string][] = [
  ['a structured reply', true, STRUCTURED, 2, 'partial'],
  ['a structured reply at low priority', true, { ...STRUCTURED, priority: 'low' }, 1, 'partial'],
  ['a structured reply with the guard off', false, STRUCTURED, 0, 'partial'],
  ['prose with the guard off', false, { replySchema: 'prose' }, 0, 'done'],
];

runCases([
  {
    name: 'a model that writes code must run it before it may finish',
    // It first only reads the file, then hides the exit code, then runs the file.
    script: [
      writes('a.sh', 'echo hello'),
      DONE,
      reads('a.sh'),
      DONE,
      runs('sh a.sh | cat'),
      DONE,
      runs('sh a.sh'),
      DONE,
    ],
    task: { task: { priority: 'high', replySchema: 'structured' } },
    expect: {
      status: 'done',
      guards: ['verify warn', 'verify warn', 'verify warn'],
      evidence: ['reread a.sh', 'command sh a.sh | cat', 'command sh a.sh', /^review /],
      nextSteps: [/^review /],
    },
    asks: {
      3: NOT_VERIFIED,
      5: NOT_VERIFIED,
      7: /^Not verified yet.* of a\.sh\. `sh a\.sh \| cat` does not count, since its exit code is hidden\. Run a check/,
    },
  },
  ...UNCHECKED.map(
    ([what, verifyBeforeComplete, task, told, status]): RunCase => ({
      name: `${what} without a check after the last write is ${status}`,
      script: [runs('echo 1 > a.js; true'), say('Verified it all.')],
      config: { hooks: { verifyBeforeComplete } },
      task: { task },
      expect: {
        status,
        remaining: status === 'done' ? [] : ['nothing was verified after the last write'],
        guards: Array(told).fill('verify warn'),
        nextSteps: [
          verifyBeforeComplete
            ? UNVERIFIED
            : `${UNVERIFIED}; it was not asked to, since verifyBeforeComplete is off`,
        ],
      },
    }),
  ),
  {
    name: 'a model that alternates between two files is stopped with partial, which names the guard',
    script: pingPong,
    expect: {
      status: 'partial',
      requests: 9,
      guards: ['loop warn', 'loop stop'],
      remaining: [
        /^what the brief asks for beyond the work so far \(wrote a\.js, b\.js\): the loop guard ended the run after step 9: the same files \(a\.js, b\.js\) were edited in circles, and no check passed$/,
      ],
      files: ['a.js', 'b.js'],
    },
    asks: { 9: /"note":"You've edited the same files \(a\.js, b\.js\) 8 times since a check passed, / },
  },
  {
    name: 'a model that repeats the same error is stopped with partial, although it did no work',
    script: [reads('gone.txt')],
    expect: {
      status: 'partial',
      requests: 5,
      guards: ['loop warn', 'loop stop'],
      remaining: [
        /\(nothing\): the loop guard ended the run after step 5: read_file failed again and again with the same error$/,
      ],
    },
  },
  {
    name: 'a model that repeatedly calls an unknown tool is stopped',
    script: [use([['no_such_tool', { a: 1 }]])],
    expect: { status: 'partial', requests: 5, guards: ['loop warn', 'loop stop'] },
    asks: { 4: /You've|no_such_tool has failed 3 times with the same error/ },
  },
  {
    name: 'all calls of an answer are made, and the run ends after the next one that repeats them',
    script: [use(Array.from({ length: 9 }, () => ['shell_exec', { command: 'echo x >> count.txt' }]))],
    expect: {
      requests: 2,
      remaining: [/the loop guard ended the run after step 2: /],
      evidence: Array(18).fill('command echo x >> count.txt'),
    },
    check({ requests, result }) {
      assert.match(JSON.stringify(requests[1]), /You've edited the same files \(count\.txt\)/);
      assert.ok(result.evidence?.every(({ exitCode }) => exitCode === 0));
    },
  },
  {
    name: 'with loop detection off, the step limit still holds',
    script: pingPong,
    config: { hooks: { loopDetection: false }, limits: { max_steps: 20 } },
    expect: { status: 'partial', guards: ['steps wrap_up'] },
  },
  {
    name: 'false claims about spending, files and a pull request have no effect',
    script: [
      writes('real.txt'),
      say(`I spent 3 tokens. All tests pass.\n\`\`\`outcome\n${JSON.stringify(LIE)}\n\`\`\``),
    ],
    expect: {
      text: 'I spent 3 tokens. All tests pass.',
      files: ['real.txt'],
      evidence: ['claimed pull request https://git.invalid/pull/1'],
      nextSteps: [
        'verify real.txt: nothing was checked after the last write',
        'confirm the pull request https://git.invalid/pull/1: the model claims it, and nothing confirms it',
      ],
    },
    check({ result, context }) {
      assert.equal(result.artifacts.pr, null);
      assert.doesNotMatch(JSON.stringify(context.events), /git\.invalid/);
      assert.ok(context.budget.spent() > 1000, String(context.budget.spent()));
    },
  },
  {
    name: '4,000 lines of successful output add fewer than 20 lines to the context',
    script: [runs('seq 4000 | sed "s/$/ passed/"'), runs('wc -l .scratch/outputs/*'), say('All pass.')],
    // The kept output is not part of the work.
    expect: { status: 'done', files: [] },
    asks: {
      2: /"exit_code":0,"stdout":"Command succeeded \(4000 lines of output, \d+ bytes; the full output is in \.scratch\/outputs\/(?:(?!\\n).)+\\n1 passed\\n(?:(?:(?!\\n).)*\\n){1,16}4000 passed"/,
      3: /"stdout":"4000 \.scratch\/outputs\//,
    },
  },
  {
    name: '4,000 lines of failed output keep the head, the tail and the errors',
    script: [
      runs(
        [
          'seq 2000 | sed "s/$/ and nothing to be seen there by anybody/"',
          'echo "✖ the sum is right"; echo "AssertionError: 3 !== 4"; echo "    at sum (a.js:7)"',
          'seq 2000 | sed "s/$/ and nothing to be seen there by anybody/"; exit 1',
        ].join('\n'),
      ),
      say('It fails.'),
    ],
    task: { task: { priority: 'low' } },
    expect: { status: 'partial' },
    asks: {
      2: /"exit_code":1,"stdout":"1 and nothing.*✖ the sum is right\\nAssertionError: 3 !== 4\\n {4}at sum \(a\.js:7\)\\n.*2000 and nothing[\w ]*\\n"/,
    },
    check: ({ requests }) => assert.ok(Buffer.byteLength(asked(requests[1] ?? assert.fail())) <= 66 * 1024),
  },
]);

test('a restart does not reset the loop detector', async (t) => {
  const run = await scriptedAgent(t, (_, request) =>
    pingPong(request.messages.filter(({ role }) => role === 'assistant').length + 1),
  );
  const killed = new Error('killed');
  for (const at of [3, 7, 12, 16]) {
    let checkpoint: JsonObject | undefined;
    const contextId = `after-${at}`;
    const first = run({
      contextId,
      onSave: (count, context) => {
        if (count === at) checkpoint = context.checkpoints.at(-1);
        if (count >= at) context.controller.abort(killed);
      },
    });
    await assert.rejects(first, killed);
    assert.ok(checkpoint);
    const { result, guards } = await run({ contextId, checkpoint });
    // An interrupted write is reported to the model, and not counted.
    assert.match(result.remaining?.[0] ?? '', /ended the run after step (?:9|10): /, `after ${at}`);
    assert.deepEqual(guards.at(-1), 'loop stop');
  }
});

test('progress events report the start and end of each call, without text of the model', async (t) => {
  const made = 'a_name_that_the_model_made_up';
  const calls: [string, object][] = [
    ['list_files', {}],
    [made, {}],
    ['read_file', { path: 'secret-plan.txt' }],
  ];
  const run = await scriptedAgent(t, [use(calls), say('Looked.')]);
  const { context } = await run({ limit: 20_000 });
  const told = context.events.flatMap((event: RunEvent) =>
    event.type === 'progress' && 'tool' in event.data ? [event.data] : [],
  );
  assert.deepEqual(
    told.map(({ tool, phase, ok }) => [tool, phase, ok]),
    [
      ['list_files', 'started', undefined],
      ['read_file', 'started', undefined],
      ['list_files', 'ended', true],
      ['read_file', 'ended', false],
    ],
  );
  for (const { phase, duration_ms: duration, spent_tokens: spent, budget_tokens: budget, step } of told) {
    assert.deepEqual([budget, step], [20_000, 1]);
    assert.ok(typeof spent === 'number' && spent > 0);
    assert.equal(typeof duration, phase === 'ended' ? 'number' : 'undefined');
  }
  const sent = JSON.stringify(context.events.filter(({ type }) => type !== 'text'));
  assert.doesNotMatch(sent, /secret-plan|made_up|Looked/);
});

test('tool calls are logged if configured, without secrets', async (t) => {
  for (const logToolUse of [true, false]) {
    const logged: object[] = [];
    const log = {
      ...silentLog,
      info: (fields: object, message: string) => void logged.push({ ...fields, message }),
    };
    const script = [runs('API_KEY=abcdefgh12345 true'), say('Done.')];
    const run = await scriptedAgent(t, script, { hooks: { logToolUse } }, { log });
    await run();
    const used = logged.filter((line) => 'tool' in line);
    assert.equal(used.length, logToolUse ? 1 : 0);
    if (!logToolUse) continue;
    const {
      duration_ms: duration,
      task_id: taskId,
      ...rest
    } = { duration_ms: undefined, task_id: undefined, ...used[0] };
    assert.deepEqual([typeof duration, typeof taskId], ['number', 'string']);
    assert.deepEqual(rest, {
      dispatch_id: 'task',
      root_id: 'task',
      tool: 'shell_exec',
      ok: true,
      detail: 'API_KEY=[redacted] true',
      message: 'a tool was used',
    });
  }
});
