import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordingTracing } from '@hermes-fleet/protocol/testing';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';

const BRIEF = [
  'Write a note and look at it.',
  block('src/note.txt', 'hello fleet'),
  block('sh', 'wc -c < src/note.txt'),
].join('\n');

test('a runbook brief writes, runs and reads back in a real git workspace', async (t) => {
  const agent = await makeAgent(t, {}, { real: true });
  const context = makeContext({ limit: 20_000 });
  const task = makeTask(BRIEF, { task: { replySchema: 'structured' } });
  const result = await agent.executor.run(task, context);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['src/note.txt']);
  assert.match(result.text ?? '', /exit code 0/);
  assert.deepEqual(result.evidence, [
    { kind: 'command', detail: 'wc -c < src/note.txt', exitCode: 0, afterWrite: true },
    { kind: 'reread', detail: 'src/note.txt', afterWrite: true },
  ]);
  const usage = context.budget.usage();
  assert.equal(usage.source, 'estimated');
  assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
  assert.deepEqual(await agent.repoState(), { branch: 'main', clean: true });
  const results = join(agent.place.workspaceRoot, 'results.git');
  const tree = join(agent.place.workspaceRoot, 'contexts', 'context-1', 'tree');
  assert.equal(readFileSync(join(tree, 'src/note.txt'), 'utf8'), 'hello fleet\n');
  const branch = 'fleet/context-1';
  const format = '--format={"author":"%an","commit":"%H","base":"%P","message":"%s|%(trailers:separator=|)"}';
  const log = JSON.parse(
    execFileSync('git', ['-C', results, 'log', '-1', format, branch], { encoding: 'utf8' }),
  );
  const { delivery } = result.artifacts;
  assert.deepEqual(log, {
    ...{ author: 'Hermes Fleet neo', base: delivery?.base, commit: delivery?.commit },
    message: `Done, as the brief says|Fleet-Task: ${task.id}`,
  });
  assert.deepEqual([delivery?.repository, delivery?.branch, delivery?.state], [null, branch, 'kept']);
});

test('a result that changes what a forge runs asks its caller to look at it', async (t) => {
  const agent = await makeAgent(t);
  const result = await agent.executor.run(
    makeTask(block('.github/workflows/x.yml', 'on: push')),
    makeContext(),
  );
  assert.match(result.nextSteps.at(-1) ?? '', /^look at \.github\/workflows\/x\.yml before you push: /);
});

test('events carry steps, tools and tokens, and nothing of the brief', async (t) => {
  const agent = await makeAgent(t);
  const context = makeContext({ limit: 20_000 });
  await agent.executor.run(makeTask(BRIEF), context);
  const progress = context.events.flatMap((event) => (event.type === 'progress' ? [event.data] : []));
  assert.deepEqual(
    progress.flatMap(({ tool, phase, ok }) => (phase === 'ended' ? [[tool, ok]] : [])),
    [
      ['write_file', true],
      ['shell_exec', true],
      ['read_file', true],
    ],
  );
  assert.equal(progress.at(-1)?.spent_tokens, context.budget.spent());
  assert.equal(progress.at(-1)?.budget_tokens, 20_000);
  assert.doesNotMatch(JSON.stringify(progress), /note|hello|wc/);
});

test('the work on the repository has spans in the trace of the run', async (t) => {
  const tracing = recordingTracing();
  const agent = await makeAgent(t, {}, { tracing });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await agent.executor.run({ ...makeTask(BRIEF), traceparent }, makeContext());
  for (const name of ['git open', 'git begin', 'git commit']) {
    const { parent, isEnded, failure } = tracing.only(name);
    assert.deepEqual([parent, isEnded, failure], [traceparent, true, undefined], name);
  }
});

test('a failing command stops the run, and the result says what remains', async (t) => {
  const agent = await makeAgent(t);
  const brief = [block('a.txt', 'a'), block('sh', 'exit 3'), block('sh', 'echo never > b.txt')].join('\n');
  const result = await agent.executor.run(makeTask(brief), makeContext());
  assert.equal(result.status, 'partial');
  assert.deepEqual(result.remaining, ['run: exit 3', 'run: echo never > b.txt']);
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
  const alone = await agent.executor.run(makeTask(block('sh', 'exit 3'), { contextId: 'c2' }), makeContext());
  assert.equal(alone.status, 'error');
  assert.equal(alone.error?.code, 'task_failed');
  assert.deepEqual(alone.artifacts.filesChanged, []);
});

test('a brief that needs a model ends partial without one and says so', async (t) => {
  const agent = await makeAgent(t);
  const brief = 'Refactor the auth module.';
  const result = await agent.executor.run(makeTask(brief), makeContext());
  assert.equal(result.status, 'partial');
  assert.deepEqual(result.remaining, [brief]);
  assert.match(result.text ?? '', /No model is configured/);
  assert.ok(agent.notes.some((note) => note.includes('no model is configured')));
});

test('a JSON reply becomes the output of the result', async (t) => {
  const agent = await makeAgent(t);
  const task = makeTask(block('sh', 'echo hi'), { task: { replySchema: 'json' } });
  const result = await agent.executor.run(task, makeContext());
  assert.equal(result.status, 'done');
  assert.deepEqual(result.output, { ran: [{ command: 'echo hi', result: 'exit code 0' }], wrote: [] });
});

test('PROGRESS.json and .scratch stay out of commits and of files_changed', async (t) => {
  const agent = await makeAgent(t);
  const brief = block('sh', 'mkdir -p .scratch d && touch .scratch/x d/deleted PROGRESS.json "ü b.txt"');
  const first = await agent.executor.run(makeTask(brief), makeContext());
  assert.deepEqual(first.artifacts.filesChanged, ['d/deleted', 'ü b.txt']);
  const second = await agent.executor.run(makeTask(block('sh', 'rm d/deleted')), makeContext());
  assert.deepEqual(second.artifacts.filesChanged, ['d/deleted']);
});

test('concurrent contexts do not see each other’s files', async (t) => {
  const agent = await makeAgent(t);
  const ids = ['a', 'b', 'with/slash', '../up', 'x'.repeat(300)];
  const results = await Promise.all(
    ids.map((contextId, index) =>
      agent.executor.run(makeTask(block('same.txt', `number ${index}`), { contextId }), makeContext()),
    ),
  );
  assert.deepEqual(
    results.map(({ status, artifacts }) => [status, artifacts.filesChanged]),
    ids.map(() => ['done', ['same.txt']]),
  );
  assert.deepEqual(await agent.repoState(), { branch: 'main', clean: true });
});

test('an insufficient budget ends in an error before any work, in partial after some', async (t) => {
  const guards: string[] = [];
  const agent = await makeAgent(t, {}, { onGuard: (guard, level) => guards.push(`${guard} ${level}`) });
  const none = makeContext({ limit: 300 });
  const nothing = await agent.executor.run(makeTask(BRIEF), none);
  assert.equal(nothing.status, 'error');
  assert.equal(nothing.error?.code, 'budget_exhausted');
  assert.equal(none.budget.spent(), 0);
  const some = makeContext({ limit: 700 });
  const result = await agent.executor.run(makeTask(BRIEF, { contextId: 'c2' }), some);
  assert.equal(result.status, 'partial');
  assert.equal(result.remaining?.length, 1);
  assert.match(result.remaining?.[0] ?? '', /beyond the work so far \(wrote src\/note\.txt\)/);
  assert.deepEqual(result.artifacts.filesChanged, ['src/note.txt']);
  assert.ok(some.budget.spent() > 0 && some.budget.spent() <= 700, String(some.budget.spent()));
  // The budget did not even cover the wrap-up prompt.
  assert.deepEqual(guards, ['budget stop', 'budget wrap_up', 'budget stop']);
});

test('offline/runbook wraps up on request and names the unfinished work', async (t) => {
  const agent = await makeAgent(t);
  const short = makeContext({ limit: 1500 });
  const result = await agent.executor.run(makeTask(BRIEF), short);
  assert.deepEqual([result.status, result.remaining], ['partial', ['run: wc -c < src/note.txt']]);
  assert.match(result.nextSteps.join(), /^verify src\/note\.txt: nothing was checked/);
  assert.ok(short.budget.spent() <= 1500, String(short.budget.spent()));
  const enough = makeContext({ limit: 2000 });
  const whole = await agent.executor.run(makeTask(BRIEF, { contextId: 'c2' }), enough);
  assert.equal(whole.status, 'done', 'told at its last step, with nothing left to do');
  assert.ok(enough.budget.spent() <= 2000, String(enough.budget.spent()));
});

test('capabilities list the enabled and usable tools', async (t) => {
  const all = await makeAgent(t);
  const files = ['read_file', 'write_file', 'edit_file', 'list_files', 'find_files', 'grep_files'];
  const others = [
    ...['progress_read', 'progress_update', 'scratchpad_read', 'scratchpad_write', 'scratchpad_list'],
    ...['delegate', 'memory_read', 'memory_write', 'memory_list', 'web_fetch', 'publish_file', 'ask_caller'],
  ];
  const words = ['terminal', 'file', 'patch'];
  const commands = ['shell_exec', 'shell_start', 'shell_output', 'shell_stop'];
  assert.deepEqual(all.capabilities().tools, [...words, ...files, ...commands, ...others]);
  assert.ok(all.minimumBudget > 250 && all.minimumBudget < 500);
  const noShell = await makeAgent(t, { tools: { shell: { enabled: false } } });
  assert.deepEqual(noShell.capabilities().tools, ['file', 'patch', ...files, ...others]);
  const result = await noShell.executor.run(makeTask(block('sh', 'true')), makeContext());
  assert.equal(result.status, 'partial');
  assert.match(result.text ?? '', /needs shell_exec/);
});

test('echo answers without a model, llm without tools', async (t) => {
  const echo = await makeAgent(t, {}, { responseHandler: 'echo' });
  const context = makeContext();
  assert.equal((await echo.executor.run(makeTask(' Ping '), context)).text, 'pong');
  assert.equal((await echo.executor.run(makeTask('some text'), context)).text, 'some text');
  assert.equal(context.budget.spent(), 0);
  assert.deepEqual(echo.capabilities().tools, []);
  const llm = await makeAgent(t, {}, { responseHandler: 'llm' });
  assert.deepEqual(llm.capabilities().tools, []);
  assert.equal((await llm.executor.run(makeTask(block('sh', 'true')), makeContext())).status, 'partial');
});
