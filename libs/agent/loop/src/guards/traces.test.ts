import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { CIRCLES } from '../../testing/traces/circles.ts';
import { HONEST_EDITS } from '../../testing/traces/honest-edits.ts';
import { HONEST_RUNS } from '../../testing/traces/honest-runs.ts';
import { INDEPENDENT } from '../../testing/traces/independent/index.ts';
import { play } from '../../testing/traces/play.ts';
import { SAME_RESULTS } from '../../testing/traces/same-results.ts';

const TRACES = [...HONEST_EDITS, ...HONEST_RUNS, ...CIRCLES, ...SAME_RESULTS, ...INDEPENDENT];

test('the names of traces are unique', () => {
  assert.equal(new Set(TRACES.map(({ name }) => name)).size, TRACES.length);
});

for (const kind of ['honest', 'circle'] as const) {
  const traces = TRACES.filter((trace) => trace.kind === kind);
  test(`${kind === 'honest' ? 'no honest trace is' : 'every circle is'} stopped`, async (t) => {
    const wrong: string[] = [];
    for (const trace of traces) {
      const { stoppedAfter, reason, notes } = await play(trace, silentLog);
      if ((stoppedAfter !== undefined) !== (kind === 'circle'))
        wrong.push(
          `${trace.name}: ${stoppedAfter ?? 'not stopped'} ${reason ?? ''}\n  ${notes.join('\n  ')}`,
        );
      const restarted = await play(trace, silentLog, true);
      assert.deepEqual(
        restarted,
        { stoppedAfter, reason, notes },
        `${trace.name}: a restart changes a decision`,
      );
    }
    t.diagnostic(`${traces.length} traces, ${wrong.length} judged wrongly`);
    assert.equal(wrong.length, 0, wrong.join('\n'));
  });
}
