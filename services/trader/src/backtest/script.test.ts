import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { backtestFiles } from '../../testing/backtest/files.ts';
import { GRID } from '../../testing/store/harness.ts';
import { openBars } from './bars.ts';
import { readScript } from './script.ts';

const DEFAULTS = { concern_id: 'qndd8o9ppop6:xrpusd', account_id: 'qndd8o9ppop6', market_symbol: 'xrpusd' };
const PAUSE = { action: 'pause', reason: 'r', confidence: 1 };

test('a script is read in the order of its bars, with the defaults of its concern', (t) => {
  const files = backtestFiles(t, 10);
  const bars = openBars(files.request({ csv: join(files.dir, 'bars.csv') }), undefined);
  const file = files.script(
    { bar: 0, decision: PAUSE },
    '',
    // The third bar closes at 20:03.
    { at: '2026-04-16T20:03:59Z', decision: { ...PAUSE, decision_id: 'mine' } },
    { at: '2026-04-16T20:04:00Z', decision: { ...PAUSE, concern_id: 'other:btc' } },
    { bar: 10, decision: { ...PAUSE, action: 'switch', target_strategy_id: GRID } },
  );
  const script = readScript(file, bars, DEFAULTS);
  assert.deepEqual(
    script.map(({ line, afterBars, decision }) => [line, afterBars, decision.decisionId, decision.concernId]),
    [
      [1, 0, 'line-1', 'qndd8o9ppop6:xrpusd'],
      [3, 3, 'mine', 'qndd8o9ppop6:xrpusd'],
      [4, 4, 'line-4', 'other:btc'],
      [5, 10, 'line-5', 'qndd8o9ppop6:xrpusd'],
    ],
  );
});

test('every wrong line of a script is named with its field', (t) => {
  const files = backtestFiles(t, 10);
  const bars = openBars(files.request({ csv: join(files.dir, 'bars.csv') }), undefined);
  const file = files.script(
    '{"bar": 1,',
    '[]',
    { decision: PAUSE },
    { bar: 1, at: '2026-04-16T20:03:59Z', decision: PAUSE },
    { bar: 5, decision: { ...PAUSE, confidence: 2, action: 'keep' } },
    { bar: 5, decision: PAUSE, note: 'x' },
    { bar: 5, decision: PAUSE },
    { bar: 4, decision: PAUSE },
    { bar: 11, decision: PAUSE },
    '{"bar": 6, "decision": {"action": "pause", "reason": "a", "reason": "b", "confidence": 1}}',
    { at: 'noon', decision: PAUSE },
  );
  assert.throws(
    () => readScript(file, bars, DEFAULTS),
    (error) => {
      assert.ok(error instanceof FleetError);
      assert.equal(error.code, 'CONFIG_INVALID');
      const found = error.fields.map(({ path, reason }) => `${path} ${reason}`);
      for (const expected of [
        /^script\.jsonl:1 is not JSON/,
        /^script\.jsonl:2 /,
        /^script\.jsonl:3 bar give either bar/,
        /^script\.jsonl:4 bar give either bar/,
        /^script\.jsonl:5 decision\.confidence /,
        /^script\.jsonl:5 decision\.action is not one of switch, pause/,
        /^script\.jsonl:6 .*note/,
        /^script\.jsonl:8 bar is before that of line 7/,
        /^script\.jsonl:9 bar is after the last bar: there are 10/,
        /^script\.jsonl:10 decision\.reason occurs more than once/,
        /^script\.jsonl:11 at /,
      ])
        assert.ok(
          found.some((line) => expected.test(line)),
          `${expected} is not in\n${found.join('\n')}`,
        );
      return true;
    },
  );
  assert.throws(() => readScript(join(files.dir, 'none.jsonl'), bars, DEFAULTS), /cannot be read \(ENOENT\)/);
});
