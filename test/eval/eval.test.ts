import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { ROOT } from '../support/fleet.ts';
import { type EvalBrief, type Expectation, parseBrief, turnsOf } from './brief.ts';
import { BRIEFS, testBriefs } from './brief-sweep.ts';
import { type EvalSettings, evalSettings, isPlayed, settingsFor } from './model.ts';
import { tableOf, totals } from './report.ts';
import { compactionsOf, type Verdict } from './run-brief.ts';

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

testBriefs('one');
