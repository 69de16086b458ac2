import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  begin,
  END_ROWS,
  GUARD_ROWS,
  HONESTY_ROWS,
  holdTo,
  needsScript,
  RESUME_ROWS,
  type Row,
  runOn,
} from '@hermes-fleet/agent/testing';
import { SUBJECTS } from './testing/executors-under-test.ts';

const hasModel: Row['except'] = ({ model }) =>
  model === 'none' ? undefined : 'it has a model, whose words it passes on';

/** What holds for the one executor without a model. */
const ECHO_ROWS: readonly Row[] = [
  {
    name: 'ping is answered with pong, and anything else with itself, for no tokens',
    except: hasModel,
    async run(t, subject) {
      const bench = await subject.bench(t, () => assert.fail('nobody is asked'));
      for (const [brief, reply] of [
        [' Ping ', 'pong'],
        ['Say it again.', 'Say it again.'],
      ]) {
        const { result, context } = await runOn(bench, { brief: brief ?? '' });
        assert.deepEqual([result.status, result.text], ['done', reply]);
        assert.deepEqual(result.artifacts, { pr: null, filesChanged: [] });
        assert.deepEqual([context.budget.spent(), context.events], [0, []]);
      }
    },
  },
  {
    name: 'an echo that is not the reply that was asked for is partial',
    except: hasModel,
    async run(t, subject) {
      const bench = await subject.bench(t, () => assert.fail('nobody is asked'));
      const task = { replySchema: 'json', outputSchema: { required: ['done'] } } as const;
      const { result } = await runOn(bench, { brief: 'no JSON', task });
      assert.deepEqual([result.status, result.remaining], ['partial', ['the reply is not JSON']]);
      const fits = await runOn(bench, { brief: '{"done":1}', task });
      assert.deepEqual([fits.result.status, fits.result.output], ['done', { done: 1 }]);
    },
  },
  {
    name: 'a run that was ended before it began does nothing',
    async run(t, subject) {
      const bench = await subject.bench(t, () => ({ text: 'Hello.' }));
      const { result, context } = begin(bench, {});
      context.controller.abort(new Error('too late'));
      if (needsScript(subject) === undefined) await assert.rejects(result);
      else await result.catch(() => {});
      assert.ok(context.budget.spent() < subject.callTokens * 2 + 1);
    },
  },
];

for (const subject of SUBJECTS) {
  holdTo(subject, [...GUARD_ROWS, ...END_ROWS, ...RESUME_ROWS, ...HONESTY_ROWS, ...ECHO_ROWS]);
}

test('every row holds for some executor', () => {
  const rows = [...GUARD_ROWS, ...END_ROWS, ...RESUME_ROWS, ...HONESTY_ROWS, ...ECHO_ROWS];
  for (const row of rows) {
    assert.ok(
      SUBJECTS.some((subject) => row.except?.(subject) === undefined),
      row.name,
    );
  }
});
