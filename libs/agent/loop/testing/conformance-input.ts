import assert from 'node:assert/strict';
import type { MessagePart } from '@hermes-fleet/protocol/ports';
import { type ConformanceCase, lastCheckpoint, needsScript, runTask, startRun } from './conformance.ts';

const PARTS: readonly MessagePart[] = [
  { index: 0, kind: 'data', data: { order: 7, note: '</data>' } },
  { index: 1, kind: 'file', bytes: Buffer.from('the plan\n').toString('base64'), filename: '../plan.txt' },
];

const LINE = /^(inbox\/[0-9a-f]{8}\/plan\.txt) \(application\/octet-stream, 9 bytes\)$/m;

/** Cases of tasks with data and files. */
export const INPUT_CASES: readonly ConformanceCase[] = [
  {
    name: 'data and files of a task are in its first prompt, and the files in the workspace, outside of its changes',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (_call, { users, results }) => {
        const path = LINE.exec(users[0] ?? '')?.[1] ?? 'nothing';
        return results.length === 0
          ? { calls: [['shell_exec', { command: `cat ${path} | tee copy.txt; git status --porcelain` }]] }
          : { text: 'Read.' };
      });
      const { result } = await runTask(fixture, { parts: PARTS });
      const [first, second] = fixture.requests;
      assert.match(first?.users[0] ?? '', LINE);
      assert.ok(first?.users[0]?.includes('{"order":7,"note":"\\u003c/data\\u003e"}'), first?.users[0]);
      assert.match(second?.results.join() ?? '', /the plan/);
      assert.doesNotMatch(second?.results.join() ?? '', /inbox/);
      assert.deepEqual(result.artifacts.filesChanged, ['copy.txt'], JSON.stringify(result));
    },
  },
  {
    name: 'a resumed run writes its files no second time, and knows them',
    skipFor: needsScript,
    async run(t, executor) {
      const commands = ['rm -r inbox && echo removed', 'ls inbox || echo absent'];
      const fixture = await executor.setUp(t, (_call, { results }) => {
        const command = commands[results.length];
        return command === undefined ? { text: 'Done.' } : { calls: [['shell_exec', { command }]] };
      });
      const started = startRun(fixture, {
        parts: PARTS,
        onEvent: (event, { pausing }) => {
          if (event.type === 'progress' && event.data.phase === 'ended')
            pausing.abort(new Error('the profile stops'));
        },
      });
      await assert.rejects(started.result);
      const calls = fixture.requests.length;
      const { result } = await runTask(fixture, {
        again: { ...started.task, resumes: 1 },
        checkpoint: lastCheckpoint(started.context),
      });
      assert.equal(result.status, 'done', JSON.stringify(result));
      assert.match(fixture.requests.at(-1)?.results.join() ?? '', /removed.*absent/s);
      assert.ok(fixture.requests[calls]?.raw.includes('plan.txt'), 'the resumed run knows the file');
    },
  },
];
