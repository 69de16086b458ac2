import assert from 'node:assert/strict';
import { FleetError, type JsonObject, type RunOutcome } from '@hermes-fleet/protocol';
import {
  type Bench,
  begin,
  hasEnded,
  lastCheckpoint,
  needsScript,
  type Row,
  runOn,
  type Script,
} from './conformance.ts';
import { memoryTokens } from './harness.ts';

const SHUTTING_DOWN = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');
const CUT_OFF = new Error('cut off');

const LOOK = 'echo SEEN; cat a.txt b.txt; true';
const content = (path: string): string => `content of ${path}`;

/** Looks, and writes what is missing, until it has seen both files; what it does follows from the conversation alone. */
const twoFiles: Script = (_call, { results }) => {
  const seen = results.at(-1) ?? '';
  if (!seen.includes('SEEN')) return { calls: [['shell_exec', { command: LOOK }]] };
  const missing = ['a.txt', 'b.txt'].find((path) => !seen.includes(content(path)));
  if (missing === undefined) return { text: 'Both are there.' };
  return { calls: [['write_file', { path: missing, content: `${content(missing)}\n` }]] };
};

function checkBoth(result: RunOutcome, when = ''): void {
  const { status, text, artifacts } = result;
  const facts = [status, text, artifacts.filesChanged];
  assert.deepEqual(
    facts,
    ['done', 'Both are there.', ['a.txt', 'b.txt']],
    `${when} ${JSON.stringify(result)}`,
  );
}

/** What a restart of the profile does to a run (design 3, Resume). */
export const RESUME_ROWS: readonly Row[] = [
  {
    name: 'a run that was cut off goes on from its checkpoint, in the same budget',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, twoFiles);
      const o = { limit: 200_000, store: memoryTokens() };
      const first = begin(bench, {
        ...o,
        onEvent: (event, { controller }) => hasEnded(event, 'write_file') && controller.abort(SHUTTING_DOWN),
      });
      await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
      const spent = first.context.budget.spent();
      const calls = bench.asked.length;
      assert.ok(calls > 0 && spent > 0);
      const { result, context } = await runOn(bench, {
        ...o,
        again: first.task,
        checkpoint: lastCheckpoint(first.context),
      });
      checkBoth(result);
      assert.match(bench.asked[calls]?.raw ?? '', /SEEN/, 'it knows what it did');
      assert.ok(context.budget.spent() > spent);
    },
  },
  {
    name: 'a profile that stops lets the step under way end, and the next start goes on behind it',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, twoFiles);
      const first = begin(bench, {
        onEvent: (event, { pausing }) => hasEnded(event, 'write_file') && pausing.abort(SHUTTING_DOWN),
      });
      await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
      const { result } = await runOn(bench, {
        again: first.task,
        checkpoint: lastCheckpoint(first.context),
      });
      checkBoth(result);
      assert.doesNotMatch(bench.asked.at(-1)?.results.join() ?? '', /outcome unknown: check/);
    },
  },
  {
    name: 'cut off between any two of its persisted steps, it comes to the same end',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, twoFiles);
      const whole = await runOn(bench, { contextId: 'whole' });
      checkBoth(whole.result);
      const saves = whole.context.checkpoints.length;
      assert.ok(saves >= 5, String(saves));
      for (let at = 1; at < saves; at += 1) {
        const { task, checkpoint } = await cutOffAfter(bench, at);
        const { result } = await runOn(bench, { again: task, ...(checkpoint && { checkpoint }) });
        checkBoth(result, `cut off after save ${at}`);
      }
    },
  },
  {
    name: 'a question is answered in the same run, and asked once although the profile restarts',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, (_call, { raw }) =>
        raw.includes('Make it blue')
          ? { text: 'Blue it is.' }
          : { calls: [['ask_caller', { question: 'Which colour?' }]] },
      );
      const asked: [string, string][] = [];
      const first = begin(bench, {
        answer(question, key) {
          asked.push([question, key]);
          first.context.pausing.abort(SHUTTING_DOWN);
          return Promise.reject(SHUTTING_DOWN);
        },
      });
      await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
      const { result } = await runOn(bench, {
        again: first.task,
        checkpoint: lastCheckpoint(first.context),
        async answer(question, key) {
          asked.push([question, key]);
          return 'Make it blue.';
        },
      });
      assert.deepEqual([result.status, result.text], ['done', 'Blue it is.'], JSON.stringify(result));
      assert.equal(asked.length, 2);
      assert.equal(asked[0]?.[0], 'Which colour?');
      assert.deepEqual(asked[0], asked[1], 'the same question, by the same key');
    },
  },
];

/** A run that is cut off with its n-th save: as after a crash, nothing that comes later is durable. */
async function cutOffAfter(bench: Bench, saves: number) {
  let checkpoint: JsonObject | undefined;
  const { result, task, context } = begin(bench, {
    contextId: `cut-off-${saves}`,
    onSave(run) {
      if (run.checkpoints.length > saves) throw CUT_OFF;
      checkpoint = run.checkpoints.at(-1);
      if (run.checkpoints.length === saves) run.controller.abort(SHUTTING_DOWN);
    },
  });
  await assert.rejects(result);
  assert.ok(context.checkpoints.length >= saves);
  return { task, checkpoint };
}
