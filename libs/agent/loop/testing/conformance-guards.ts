import assert from 'node:assert/strict';
import { type ConformanceCase, needsScript, needsTools, runTask, type Script } from './conformance.ts';
import { block } from './harness.ts';

const STRUCTURED = { replySchema: 'structured' } as const;
const written = (path: string, content: string) => ({ calls: [['write_file', { path, content }]] }) as const;
const read = (path: string) => ({ calls: [['read_file', { path }]] }) as const;
const run = (command: string) => ({ calls: [['shell_exec', { command }]] }) as const;

const says = (asked: readonly string[], words: RegExp): boolean => asked.some((text) => words.test(text));
const NOT_VERIFIED = /Not verified yet\. Nothing was checked after the last write of a\.txt/;

/** The guards of docs/agent.md#guards. */
export const GUARD_CASES: readonly ConformanceCase[] = [
  {
    name: 'a model that writes without verifying is told to verify, and is done afterwards',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call, { users }) => {
        if (call === 1) return written('a.txt', 'A\n');
        if (!says(users, NOT_VERIFIED)) return { text: 'Written.' };
        return call === 3 ? read('a.txt') : { text: 'Written, and read again.' };
      });
      const { result, context } = await runTask(fixture, { task: STRUCTURED });
      assert.deepEqual(
        [result.status, result.text],
        ['done', 'Written, and read again.'],
        JSON.stringify(result),
      );
      assert.deepEqual(result.evidence, [{ kind: 'reread', detail: 'a.txt', afterWrite: true }]);
      assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
      assert.deepEqual(fixture.guards, ['verify warn']);
      assert.equal(fixture.requests.length, 4);
      assert.equal(context.budget.usage().source, 'metered');
    },
  },
  {
    name: 'a model that never verifies is not done, and its result names what is unverified',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) =>
        call === 1 ? written('a.txt', 'A\n') : { text: 'All is done.' },
      );
      const { result } = await runTask(fixture, { task: STRUCTURED });
      assert.equal(result.status, 'partial');
      assert.deepEqual(result.remaining, ['nothing was verified after the last write']);
      assert.deepEqual(result.nextSteps, ['verify a.txt: nothing was checked after the last write']);
      assert.ok(fixture.guards.filter((guard) => guard === 'verify warn').length <= 3);
    },
  },
  {
    name: 'verified work is done, with its evidence',
    skipFor: needsTools,
    async run(t, executor) {
      const script: Script = (call) => {
        if (call === 1) return written('a.txt', 'A\n');
        return call === 2 ? read('a.txt') : { text: 'Written, and read again.' };
      };
      const fixture = await executor.setUp(t, script);
      const { result } = await runTask(fixture, { brief: block('a.txt', 'A'), task: STRUCTURED });
      assert.equal(result.status, 'done', JSON.stringify(result));
      assert.deepEqual(result.evidence, [{ kind: 'reread', detail: 'a.txt', afterWrite: true }]);
      assert.deepEqual(result.nextSteps, []);
    },
  },
  {
    name: 'a model that alternates between two files is warned, then stopped as partial',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) =>
        written(call % 2 === 0 ? 'a.txt' : 'b.txt', `${call}\n`),
      );
      const { result } = await runTask(fixture);
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(result.remaining?.[0] ?? '', /the loop guard ended the run .*the same files/);
      assert.ok(fixture.guards.includes('loop stop'), fixture.guards.join());
      assert.ok(fixture.requests.length <= 20, String(fixture.requests.length));
      const last = fixture.requests.at(-1) ?? assert.fail();
      assert.match(last.raw, /You've edited the same files .*Verify what you have/);
      assert.deepEqual(result.artifacts.filesChanged, ['a.txt', 'b.txt']);
    },
  },
  {
    name: 'a model that repeats the same call is warned, then stopped',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => run('echo the same'));
      const { result } = await runTask(fixture);
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(result.remaining?.[0] ?? '', /shell_exec was called again and again with the same input/);
      // Claude Code hears of the end with the first call of the next answer.
      assert.ok(
        fixture.requests.length >= 5 && fixture.requests.length <= 6,
        String(fixture.requests.length),
      );
      assert.match(fixture.requests[4]?.raw ?? '', /You've called shell_exec 3 times with the same input/);
    },
  },
  {
    name: '4,000 lines of successful output add fewer than 20 to the context, and a file keeps all of them',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) =>
        call === 1 ? run('seq -f "line %g passes" 1 4000') : { text: 'Ran.' },
      );
      await runTask(fixture);
      const [shown = ''] = fixture.requests[1]?.results ?? [];
      assert.match(shown, /Command succeeded \(4000 lines/);
      assert.match(shown, /line 1 passes/);
      assert.match(shown, /line 4000 passes/);
      assert.ok(shown.split(/\n|\\n/).length < 20, String(shown.split(/\n|\\n/).length));
      assert.match(shown, /the full output is in \.scratch\/outputs\//);
    },
  },
  {
    name: '4,000 lines of failed output keep the errors and the exit code',
    skipFor: needsScript,
    async run(t, executor) {
      const noise = 'seq -f "line %g of the noise that a long build prints" 1 2000';
      const command = `${noise}; echo "ERROR: the reason stands here"; ${noise}; exit 3`;
      const fixture = await executor.setUp(t, (call) => (call === 1 ? run(command) : { text: 'It failed.' }));
      const { result } = await runTask(fixture);
      const [shown = ''] = fixture.requests[1]?.results ?? [];
      assert.match(shown, /ERROR: the reason stands here/);
      assert.match(shown, /line 1 of the noise/);
      assert.match(shown, /line 2000 of the noise/);
      assert.match(shown, /"exit_code":3/);
      assert.ok(shown.length < 80_000);
      assert.equal(result.evidence?.[0]?.exitCode, 3);
      assert.equal(result.status, 'partial', 'its last command failed');
    },
  },
  {
    name: 'a reply that does not fit its schema is requested once more, without tools',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) => {
        if (call === 1) return { text: 'Here it is: done.' };
        return call === 2
          ? { calls: [['shell_exec', { command: 'touch late.txt' }]] }
          : { text: '{"done":true}' };
      });
      const task = { replySchema: 'json', outputSchema: { required: ['done'] } } as const;
      const { result } = await runTask(fixture, { task });
      assert.match(
        fixture.requests[1]?.users.at(-1) ?? '',
        /The reply does not fit\.\n- the reply is not JSON/,
      );
      assert.deepEqual(result.artifacts.filesChanged, [], 'the tools were off');
      assert.ok(fixture.requests.length <= 3);
      if (fixture.requests.length === 3)
        assert.deepEqual([result.status, result.output], ['done', { done: true }]);
      else assert.equal(result.status, 'partial');
    },
  },
  {
    name: 'an urgent task is reviewed, and the objections are addressed once',
    skipFor: needsScript,
    async run(t, executor) {
      const isReview = (system: string): boolean => system.includes('You are the second, independent check');
      let reviews = 0;
      const fixture = await executor.setUp(t, (_call, { system, users, results }) => {
        if (isReview(system)) {
          reviews += 1;
          return { text: 'Looked.\n```review\n{"verdict":"objections","objections":["it says B"]}\n```' };
        }
        if (says(users, /A second, independent check objects/)) {
          if (results.length === 2) return written('a.txt', 'A\n');
          return results.length === 3 ? read('a.txt') : { text: 'Corrected.' };
        }
        if (results.length === 0) return written('a.txt', 'B\n');
        return results.length === 1 ? read('a.txt') : { text: 'Written.' };
      });
      const { result } = await runTask(fixture, { brief: 'Write A to a.txt.', task: { priority: 'urgent' } });
      assert.equal(reviews, 1);
      assert.deepEqual([result.status, result.text], ['done', 'Corrected.'], JSON.stringify(result));
      assert.deepEqual(
        result.evidence?.map(({ kind }) => kind),
        ['reread', 'reread', 'review'],
      );
      const [seen] = fixture.requests.filter(({ system }) => isReview(system));
      assert.match(seen?.users[0] ?? '', /<diff>[\s\S]*\+B/);
      assert.ok(!seen?.tools.some((name) => /write|edit|shell|Write|Edit/.test(name)), seen?.tools.join());
    },
  },
];
