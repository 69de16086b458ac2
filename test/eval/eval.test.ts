import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, RunEvent } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT, runProgram } from '../support/fleet.ts';
import { startModelServer } from '../support/model-server.ts';
import { sample } from '../support/sample.ts';
import { type EvalBrief, type Expectation, parseBrief, turnsOf } from './brief.ts';
import { evaluate } from './evaluate.ts';
import { type EvalSettings, evalSettings, isPlayed, settingsFor } from './model.ts';
import { readBriefs } from './read-briefs.ts';
import { tableOf, totals } from './report.ts';
import { compactionsOf, newId, runBrief, type Verdict } from './run-brief.ts';

const MAIN = join(ROOT, 'test/eval/main.ts');
const BRIEFS = await readBriefs(join(ROOT, 'test/eval/briefs'), newId);
const never = new AbortController().signal;

/** Runs the program without a model in its environment. */
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const none = { MODEL: '', BASE_URL: '', API_KEY_ENV: '', CONFIG: '' };
  return runProgram(process.execPath, [MAIN, ...args], { env: { ...process.env, ...none, ...env } });
};

/** A minimal brief with additional expectations. */
const expecting = (more: string): EvalBrief =>
  parseBrief('x.md', `---\nabout: x\nexpect: { status: done${more} }\n---\nDo it.`, '7');
const NOTHING: Readonly<Record<string, unknown>> = expecting('').expect;

/** The expectations of a brief besides its status, without defaults, which hold for every run. */
const checksOf = ({ status: _, ...checks }: Expectation): string[] =>
  Object.entries(checks).flatMap(([name, value]) => (isDeepStrictEqual(value, NOTHING[name]) ? [] : [name]));

test('there are at least 20 short and 15 longer briefs, and each message has an expectation that can fail', () => {
  const [short, long] = [
    BRIEFS.filter(({ brief }) => !brief.script),
    BRIEFS.filter(({ brief }) => brief.script),
  ];
  assert.ok(short.length >= 20 && long.length >= 15, `${short.length} and ${long.length}`);
  for (const { brief } of BRIEFS)
    for (const { expect } of turnsOf(brief)) assert.notDeepEqual(checksOf(expect), [], brief.name);
  for (const none of ['', ', files: {}, absent: [], tools: [], remaining: false'])
    assert.deepEqual(checksOf(expecting(none).expect), [], none);
  assert.deepEqual(checksOf(expecting(', text: blue').expect), ['text']);
  // Empty values that can fail: no changed file, and no token.
  assert.deepEqual(checksOf(expecting(', changed: [], max_tokens: 0').expect), ['changed', 'max_tokens']);
});

test('the README names the number of briefs', () => {
  const [, count] = /runs (\d+) briefs/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? [];
  assert.equal(Number(count), BRIEFS.length);
});

test('a compaction is counted by the progress event that reports it', () => {
  const progress = (data: JsonObject): RunEvent => ({ type: 'progress', data });
  const compaction = { stage: 'prune', before_tokens: 30_000, after_tokens: 12_000 };
  const events = [progress({ step: 1 }), progress({ compaction }), progress({ compaction: 'no' })];
  assert.deepEqual(compactionsOf([...events, { type: 'text', text: 'x' }]), ['prune']);
});

test('the table and its totals count guard interventions', () => {
  const counts = {
    outcome: 'pass',
    status: 'done',
    tokens: 700,
    steps: 3,
    compactions: [],
    seconds: 1.25,
  } as const;
  const warned: Verdict = {
    ...{ ...counts, name: 'one', why: [], guards: ['verify warn', 'verify warn'] },
    compactions: ['prune', 'summary'],
  };
  const failed: Verdict = {
    ...warned,
    name: 'two',
    outcome: 'fail',
    why: ['the content is wrong'],
    guards: [],
    compactions: [],
  };
  const table = tableOf(['one', 'two']);
  assert.match(table.row(warned), /^one +pass +done +700 +3 +2 +1\.3 +verify warn ×2$/);
  assert.match(table.row(failed), /^two +fail +done +700 +3 +0 +1\.3\n {4}the content is wrong$/);
  assert.match(
    table.total([warned, failed]),
    /^total +1400 +6 +2 +2\.5 +2 interventions\n1 passed, 1 failed$/,
  );
  assert.deepEqual(totals([warned, failed]), {
    passed: 1,
    failed: 1,
    skipped: 0,
    tokens: 1_400,
    steps: 6,
    compactions: 2,
    seconds: 2.5,
    guards: 2,
  });
  const both = table.row({ ...warned, guards: ['verify warn', 'loop stop', 'verify warn'] });
  assert.match(both, / verify warn ×2, loop stop$/);
});

test('every brief passes: carried out by offline/runbook, or played from its script', {
  timeout: 580_000,
  concurrency: 2,
}, async (t) => {
  const settings = evalSettings({}, {});
  const briefs = sample(BRIEFS, 4, (line) => t.diagnostic(line));
  const table = tableOf(briefs.map(({ brief }) => brief.name));
  const verdicts: Verdict[] = [];
  const judged = briefs.map(({ brief, id }) =>
    t.test(brief.name, async (t) => {
      const verdict = await runBrief(brief, id, settings, never);
      verdicts.push(verdict);
      if (verdict.outcome === 'skip') return t.skip(verdict.why.join());
      assert.deepEqual([verdict.outcome, verdict.why], ['pass', []]);
    }),
  );
  await Promise.all(judged);
  t.diagnostic(`\n${[table.head(), ...verdicts.map(table.row), table.total(verdicts)].join('\n')}`);
});

test('a model that claims to be done but does nothing passes only the brief that never calls it', {
  timeout: 280_000,
}, async (t) => {
  const liar = await startModelServer(t, 'Done, and all verified.', { input: 500, output: 10 });
  const settings = evalSettings({ model: 'openai-compatible/liar', baseUrl: liar.url }, {});
  const briefs = sample(BRIEFS, 6, (line) => t.diagnostic(line));
  const passed: string[] = [];
  await evaluate(briefs, settings, {
    parallel: 2,
    signal: never,
    onVerdict: ({ name, outcome }) => void (outcome === 'pass' && passed.push(name)),
  });
  const neverCalled = briefs.filter(({ brief }) => brief.name === 'budget-is-a-ceiling');
  assert.deepEqual(
    passed,
    neverCalled.map(({ brief }) => brief.name),
  );
});

test('the program prints a table, writes JSON, and its exit code says whether all briefs pass', async (t) => {
  const dir = tempDir(t, { prefix: 'eval-test-' });
  const json = join(dir, 'results.json');
  const good = await run(['--only', 'write-a-file,edit-a-file', '--parallel', '2', '--json', json]);
  assert.equal(good.code, 0, good.stdout + good.stderr);
  assert.match(
    good.stdout,
    /^offline\/runbook, 2 briefs\n\nbrief +outcome +status +tokens +steps +compact +s {2}guards\n/,
  );
  assert.match(good.stdout, /^write-a-file +pass +done +\d+ +\d+ +0 +\d+\.\d/m);
  assert.match(good.stdout, /^total .*interventions\n2 passed, 0 failed\n$/m);
  const { model, totals, briefs } = JSON.parse(readFileSync(json, 'utf8'));
  assert.deepEqual(
    [model, totals.passed, briefs.map(({ name }: { name: string }) => name)],
    ['offline/runbook', 2, ['edit-a-file', 'write-a-file']],
  );

  const liar = await startModelServer(t, 'Done.', { input: 500, output: 10 });
  const choice = { MODEL: 'openai-compatible/liar', BASE_URL: liar.url };
  const bad = await run(['--only', 'write-a-file'], choice);
  assert.equal(bad.code, 1, bad.stdout + bad.stderr);
  assert.match(bad.stdout, /^write-a-file +fail +done .*\n(?: {4}.*\n)* {4}greeting\.txt does not exist$/m);
  assert.match(bad.stdout, /0 passed, 1 failed\n$/);
});

test('the program takes the model of a profile and refuses invalid options', async () => {
  const profile = join(ROOT, 'deploy/profiles/neo/config.yaml');
  const one = await run(['--config', profile, '--only', 'write-a-file', '--json', '-']);
  assert.deepEqual([one.code, JSON.parse(one.stdout).model], [0, 'offline/runbook'], one.stderr);
  assert.match((await run(['--help'])).stdout, /^Usage: node test\/eval\/main\.ts/);
  const list = (await run(['--list'])).stdout;
  assert.equal(list.trim().split('\n').length, BRIEFS.length);
  assert.match(list, /^large-file \(script\): one function .*\n(?:.*\n)*write-a-file: a file/m);
  const played = await run(['--only', 'document-from-code']);
  assert.match(played.stdout, /^offline\/runbook, 1 briefs \(1 of them played from their scripts\)\n/);
  assert.equal(played.code, 0, played.stdout);
  for (const [args, says] of [
    [['--only', 'nope'], /there is no brief nope; see --list/],
    [['--parallel', '0'], /--parallel 0: must be a number from 1 to 16/],
    [['--nope'], /Unknown option '--nope'.*see --help/s],
    [['--model', 'nope'], /"nope" names no model/],
    [['--model', 'anthropic/x'], /ANTHROPIC_API_KEY, which is not set/],
  ] as const) {
    const { code, stderr } = await run(args, { ANTHROPIC_API_KEY: '' });
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
});

test('a brief raises the step limit, and lowers the output limit and the window of a model', () => {
  const brief = parseBrief(
    'x.md',
    '---\nabout: x\nwindow: 9000\nmax_steps: 200\nmax_output_tokens: 100\nexpect: { status: done }\n---\nDo it.',
    '7',
  );
  const model = evalSettings({ model: 'openai-compatible/x', baseUrl: 'http://127.0.0.1:1/v1' }, {});
  const narrow = { ...model, config: { ...model.config, context_window: 5_000 } };
  const figures = ({ config }: EvalSettings) => [
    config.model,
    config.limits.max_steps,
    config.limits.max_output_tokens,
    config.context_window,
  ];
  assert.deepEqual(figures(settingsFor(brief, model, undefined)), ['openai-compatible/x', 200, 100, 9_000]);
  assert.deepEqual(figures(settingsFor(brief, narrow, undefined)), ['openai-compatible/x', 200, 100, 5_000]);
  // The scripted model names its window itself.
  const played = settingsFor(brief, evalSettings({}, {}), 'http://127.0.0.1:2/v1');
  assert.deepEqual(figures(played), ['openai-compatible/scripted', 200, 100, undefined]);
  assert.equal(played.config.base_url, 'http://127.0.0.1:2/v1');
  const script = { turns: [[{ text: 'x' }]] };
  assert.equal(isPlayed({ ...brief, script }, evalSettings({}, {})), true);
  assert.equal(isPlayed({ ...brief, script }, model), false);
  assert.equal(isPlayed(brief, evalSettings({}, {})), false);
});

test('an invalid brief is refused with its file name', () => {
  const valid = '---\nabout: x\nexpect: { status: done }\n---\nDo {{id}}.';
  assert.equal(parseBrief('x.md', valid, '7').text, 'Do 7.');
  for (const [source, says] of [
    ['no front matter', /^x\.md: a brief is YAML/],
    [valid.replace('status', 'statuss'), /^x\.md: [\s\S]*Unrecognized key: "statuss"/],
    [valid.replace('done }', 'done, text: "(" }'), /^x\.md: [\s\S]*invalid regular expression/],
  ] as const) {
    assert.throws(
      () => parseBrief('x.md', source, '7'),
      (error: Error) => says.test(error.message),
    );
  }
});
