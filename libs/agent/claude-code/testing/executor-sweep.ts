import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ConformanceCase,
  ENDING_CASES,
  GUARD_CASES,
  INPUT_CASES,
  needsScript,
  PRODUCT_CASES,
  RESUME_CASES,
  runTask,
  startRun,
  TRUST_CASES,
  testExecutor,
} from '@hermes-fleet/loop/testing';
import { type Share, sample } from '@hermes-fleet/protocol/testing';
import { EXECUTORS_UNDER_TEST } from './executors-under-test.ts';

const hasModel: ConformanceCase['skipFor'] = ({ model }) => (model === 'none' ? undefined : 'it has a model');

/** The executor without a model, and a run that ends before it starts. */
const ECHO_CASES: readonly ConformanceCase[] = [
  {
    name: 'echo answers ping with pong and any other brief with itself, without tokens',
    skipFor: hasModel,
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => assert.fail('no model is called'));
      for (const [brief, reply] of [
        [' Ping ', 'pong'],
        ['Say it again.', 'Say it again.'],
      ]) {
        const { result, context } = await runTask(fixture, { brief: brief ?? '' });
        assert.deepEqual([result.status, result.text], ['done', reply]);
        assert.deepEqual(result.artifacts, { pr: null, filesChanged: [] });
        assert.deepEqual([context.budget.spent(), context.events], [0, []]);
      }
    },
  },
  {
    name: 'an echo that does not meet the reply contract is partial',
    skipFor: hasModel,
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => assert.fail('no model is called'));
      const task = { replySchema: 'json', outputSchema: { required: ['done'] } } as const;
      const { result } = await runTask(fixture, { brief: 'no JSON', task });
      assert.deepEqual([result.status, result.remaining], ['partial', ['the reply is not JSON']]);
      const fits = await runTask(fixture, { brief: '{"done":1}', task });
      assert.deepEqual([fits.result.status, fits.result.output], ['done', { done: 1 }]);
    },
  },
  {
    name: 'a run that is aborted before it starts does nothing',
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => ({ text: 'Hello.' }));
      const { result, context } = startRun(fixture, {});
      context.controller.abort(new Error('too late'));
      if (needsScript(executor) === undefined) await assert.rejects(result);
      else await result.catch(() => {});
      assert.ok(context.budget.spent() < executor.callTokens * 2 + 1);
    },
  },
];

const CASES = [
  ...GUARD_CASES,
  ...ENDING_CASES,
  ...RESUME_CASES,
  ...TRUST_CASES,
  ...PRODUCT_CASES,
  ...INPUT_CASES,
  ...ECHO_CASES,
];

/** Executors that take seconds for a case. */
const SLOW = new Set(['loop with anthropic', 'claude-code']);
/** Executors whose program is installed for the slow tests only. */
const SLOW_ONLY = new Set(['claude-code']);

/** Registers the cases of each executor: the share of the slow ones, and all others; or one of each that needs no program. */
export function testExecutors(share: Share): void {
  for (const executor of EXECUTORS_UNDER_TEST) {
    const { name } = executor;
    if (share === 'one' && SLOW_ONLY.has(name)) continue;
    const own = share === 'one' ? CASES.filter(({ skipFor }) => skipFor?.(executor) === undefined) : CASES;
    const say = (line: string): void => void process.stdout.write(`${name}: ${line}\n`);
    testExecutor(executor, sample(own, share === 'one' || SLOW.has(name) ? share : 1, say));
  }
  test('every case applies to some executor', () => {
    for (const { name, skipFor } of CASES)
      assert.ok(
        EXECUTORS_UNDER_TEST.some((executor) => skipFor?.(executor) === undefined),
        name,
      );
  });
}
