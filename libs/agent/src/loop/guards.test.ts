import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject, RunEvent } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { scriptedAgent, stepsSinceAsked, userTexts } from '../testing/scripted-run.ts';
import { asked, type ChatRequest, type Reply, say, use } from '../testing/scripted-server.ts';

const writes = (path: string, content: string): Reply => use([['write_file', { path, content }]]);
const runs = (command: string): Reply => use([['shell_exec', { command }]]);
/** The result of the last call in a request. */
const lastAnswer = ({ messages }: ChatRequest): string =>
  String(messages.findLast(({ role }) => role === 'tool')?.content);

test('a model that writes code must run it before it may finish', async (t) => {
  const TOLD = /^Not verified yet\. Nothing was checked after the last write of a\.sh\./;
  const run = await scriptedAgent(t, (turn, request) => {
    if (turn === 1) return writes('a.sh', 'echo hello');
    const told = TOLD.test(userTexts(request).at(-1) ?? '');
    // It first only reads the file, then hides the exit code, then runs the file.
    const whenTold = [use([['read_file', { path: 'a.sh' }]]), runs('sh a.sh | cat'), runs('sh a.sh')];
    const times = userTexts(request).filter((text) => TOLD.test(text)).length;
    return told && stepsSinceAsked(request) === 0 ? (whenTold[times - 1] ?? say('Done.')) : say('Done.');
  });
  const { result, guards, requests } = await run({ task: { priority: 'high', replySchema: 'structured' } });
  assert.equal(guards.filter((guard) => guard === 'verify warn').length, 3, guards.join());
  assert.equal(result.status, 'done', JSON.stringify(result));
  const last = userTexts(requests.findLast((request) => TOLD.test(asked(request))) ?? assert.fail()).at(-1);
  assert.match(
    last ?? '',
    /of a\.sh\. `sh a\.sh \| cat` does not count, since its exit code is hidden\. Run a check/,
  );
  assert.deepEqual(
    result.evidence
      ?.filter(({ kind }) => kind !== 'review')
      .map(({ kind, detail, exitCode, afterWrite }) => [kind, detail, exitCode, afterWrite]),
    [
      ['reread', 'a.sh', undefined, true],
      ['command', 'sh a.sh | cat', 0, true],
      ['command', 'sh a.sh', 0, true],
    ],
  );
  assert.ok(!result.nextSteps.some((step) => step.startsWith('verify')), result.nextSteps.join());
});

test('a structured reply without a check after the last write is never done, even with the guard off', async (t) => {
  for (const [verifyBeforeComplete, told] of [
    [true, 2],
    [false, 0],
  ] as const) {
    const run = await scriptedAgent(
      t,
      (_, request) => (request.messages.length === 2 ? runs('echo 1 > a.js; true') : say('Verified it all.')),
      {
        hooks: { verifyBeforeComplete },
      },
    );
    const { result, guards } = await run({ task: { replySchema: 'structured' } });
    assert.deepEqual(guards, Array(told).fill('verify warn'));
    assert.deepEqual(
      [result.status, result.remaining],
      ['partial', ['nothing was verified after the last write']],
    );
    const off = verifyBeforeComplete ? '' : '; it was not asked to, since verifyBeforeComplete is off';
    assert.deepEqual(result.nextSteps, [`verify a.js: nothing was checked after the last write${off}`]);
    const prose = await run({ task: { priority: 'low' }, contextId: 'low' });
    assert.deepEqual([prose.result.status, prose.result.nextSteps], ['done', result.nextSteps]);
  }
});

/** Alternates between two files, always with new content. */
const pingPong = (turn: number): Reply => writes(turn % 2 === 1 ? 'a.js' : 'b.js', `${turn}`);

test('a model that alternates between two files is stopped with partial, which names the guard', async (t) => {
  const run = await scriptedAgent(t, pingPong);
  const { result, guards, requests } = await run({ brief: 'Make it work.' });
  assert.deepEqual([result.status, requests.length], ['partial', 9], JSON.stringify(result));
  assert.deepEqual(guards, ['loop warn', 'loop stop']);
  assert.match(
    result.remaining?.[0] ?? '',
    /^what the brief asks for beyond the work so far \(wrote a\.js, b\.js\): the loop guard ended the run after step 9: the same files \(a\.js, b\.js\) were edited in circles, and no check passed$/,
  );
  assert.deepEqual(result.artifacts.filesChanged, ['a.js', 'b.js']);
  const warned = requests[8] ?? assert.fail();
  assert.match(
    lastAnswer(warned),
    /"note":"You've edited the same files \(a\.js, b\.js\) 8 times since a check passed, /,
  );
});

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

test('a model that repeats the same error is stopped with partial, although it did no work', async (t) => {
  const run = await scriptedAgent(t, () => use([['read_file', { path: 'gone.txt' }]]));
  const { result, requests, guards } = await run();
  assert.deepEqual([result.status, requests.length, guards], ['partial', 5, ['loop warn', 'loop stop']]);
  assert.match(
    result.remaining?.[0] ?? '',
    /\(nothing\): the loop guard ended the run after step 5: read_file failed again and again with the same error$/,
  );
});

test('a model that repeatedly calls an unknown tool is stopped', async (t) => {
  const run = await scriptedAgent(t, () => use([['no_such_tool', { a: 1 }]]));
  const { result, requests, guards } = await run();
  assert.deepEqual([result.status, requests.length, guards], ['partial', 5, ['loop warn', 'loop stop']]);
  assert.match(
    lastAnswer(requests[3] ?? assert.fail()),
    /You've|no_such_tool has failed 3 times with the same error/,
  );
});

test('all calls of an answer are made, and the run ends after the next one that repeats them', async (t) => {
  const line = 'echo x >> count.txt';
  const run = await scriptedAgent(t, () =>
    use(Array.from({ length: 9 }, () => ['shell_exec', { command: line }])),
  );
  const { result, requests } = await run();
  assert.equal(requests.length, 2);
  assert.match(JSON.stringify(requests[1]), /You've edited the same files \(count\.txt\)/);
  assert.equal(
    result.evidence?.filter(({ kind, exitCode }) => kind === 'command' && exitCode === 0).length,
    18,
  );
  assert.match(result.remaining?.[0] ?? '', /the loop guard ended the run after step 2: /);
});

test('with loop detection off, the step limit still holds', async (t) => {
  const run = await scriptedAgent(t, pingPong, {
    hooks: { loopDetection: false },
    limits: { max_steps: 20 },
  });
  const { result, guards } = await run();
  assert.deepEqual([result.status, guards], ['partial', ['steps wrap_up']]);
});

test('4,000 lines of successful output add fewer than 20 lines to the context', async (t) => {
  const place = makePlace(t);
  const run = await scriptedAgent(
    t,
    (turn) => (turn === 1 ? runs('seq 4000 | sed "s/$/ passed/"') : say('All pass.')),
    {},
    { place },
  );
  const { requests, result } = await run();
  assert.equal(result.status, 'done', JSON.stringify(result));
  const answer = lastAnswer(requests[1] ?? assert.fail());
  const { exit_code: exitCode, stdout } = JSON.parse(answer);
  assert.equal(exitCode, 0);
  assert.ok(stdout.split('\n').length < 20, stdout);
  assert.match(
    stdout,
    /^Command succeeded \(4000 lines of output, \d+ bytes; the full output is in \.scratch\/outputs\//,
  );
  assert.match(stdout, /\n1 passed\n[\s\S]*\n4000 passed$/);
  const [, path = ''] = /in (\.scratch\/outputs\/[\w.-]+)/.exec(stdout) ?? [];
  const kept = readFileSync(join(place.workspaceRoot, 'contexts', 'context-1', 'tree', path), 'utf8');
  assert.equal(kept.split('\n').length, 4001);
  assert.deepEqual(result.artifacts.filesChanged, [], 'the kept output is not part of the work');
});

test('4,000 lines of failed output keep the head, the tail and the errors', async (t) => {
  const script = [
    'seq 2000 | sed "s/$/ and nothing to be seen there by anybody/"',
    'echo "✖ the sum is right"; echo "AssertionError: 3 !== 4"; echo "    at sum (a.js:7)"',
    'seq 2000 | sed "s/$/ and nothing to be seen there by anybody/"; exit 1',
  ].join('\n');
  const run = await scriptedAgent(t, (turn) => (turn === 1 ? runs(script) : say('It fails.')));
  const { requests, result } = await run({ task: { priority: 'low' } });
  const answer = lastAnswer(requests[1] ?? assert.fail());
  const { exit_code: exitCode, stdout } = JSON.parse(answer);
  assert.equal(exitCode, 1);
  assert.ok(Buffer.byteLength(stdout) <= 64 * 1024);
  assert.match(stdout, /✖ the sum is right\nAssertionError: 3 !== 4\n {4}at sum \(a\.js:7\)/);
  assert.match(stdout, /^1 and nothing/);
  assert.match(stdout, /2000 and nothing.*\n$/);
  assert.equal(result.status, 'partial');
});

test('false claims about spending, files and a pull request have no effect', async (t) => {
  const lie = {
    status: 'done',
    tokens_spent: 3,
    files_changed: ['made-up.ts'],
    pr: 'https://git.invalid/pull/1',
    evidence: [{ kind: 'command', detail: 'npm test', exit_code: 0 }],
  };
  const run = await scriptedAgent(t, (turn) =>
    turn === 1
      ? writes('real.txt', 'x')
      : say(`I spent 3 tokens. All tests pass.\n\`\`\`outcome\n${JSON.stringify(lie)}\n\`\`\``),
  );
  const { result, context } = await run();
  assert.ok(context.budget.spent() > 1000, String(context.budget.spent()));
  assert.deepEqual(result.artifacts, { pr: null, filesChanged: ['real.txt'] });
  assert.deepEqual(result.evidence, [{ kind: 'claimed', detail: 'pull request https://git.invalid/pull/1' }]);
  assert.deepEqual(result.nextSteps, [
    'verify real.txt: nothing was checked after the last write',
    'confirm the pull request https://git.invalid/pull/1: the model claims it, and nothing confirms it',
  ]);
});

test('progress events report the start and end of each call, without text of the model', async (t) => {
  const made = 'a_name_that_the_model_made_up';
  const run = await scriptedAgent(t, (turn) =>
    turn === 1
      ? use([
          ['list_files', {}],
          [made, {}],
          ['read_file', { path: 'secret-plan.txt' }],
        ])
      : say('Looked.'),
  );
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
    const run = await scriptedAgent(
      t,
      (turn) => (turn === 1 ? runs('API_KEY=abcdefgh12345 true') : say('Done.')),
      { hooks: { logToolUse } },
      { log },
    );
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
