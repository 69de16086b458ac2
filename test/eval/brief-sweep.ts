import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Share, sample } from '@hermes-fleet/protocol/testing';
import { startModelServer } from '../support/model-server.ts';
import { evaluate } from './evaluate.ts';
import { evalSettings } from './model.ts';
import { readBriefs } from './read-briefs.ts';
import { tableOf } from './report.ts';
import { newId, runBrief, type Verdict } from './run-brief.ts';

export const BRIEFS = await readBriefs(join(import.meta.dirname, 'briefs'), newId);
const never = new AbortController().signal;

/** Registers the tests of briefs: each passes, and none for a model that does nothing. One case is a short brief. */
export function testBriefs(share: Share, liarShare: Share = share): void {
  const all = share === 'one' ? BRIEFS.filter(({ brief }) => !brief.script) : BRIEFS;

  test('every brief passes: carried out by offline/runbook, or played from its script', {
    timeout: 580_000,
    concurrency: 2,
  }, async (t) => {
    const settings = evalSettings({}, {});
    const briefs = sample(all, share, (line) => t.diagnostic(line));
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
    const briefs = sample(all, liarShare, (line) => t.diagnostic(line));
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
}
