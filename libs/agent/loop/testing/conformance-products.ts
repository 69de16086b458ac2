import assert from 'node:assert/strict';
import { FleetError } from '@hermes-fleet/protocol';
import {
  type ConformanceCase,
  lastCheckpoint,
  needsScript,
  needsTools,
  runTask,
  startRun,
} from './conformance.ts';
import { block } from './harness.ts';
import { type MemoryArtifacts, memoryArtifacts } from './memory-artifacts.ts';

const INTERRUPTED = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');

const published = ({ chunks }: MemoryArtifacts): unknown[] =>
  chunks.map(({ id, place, parts }) => [
    id,
    place,
    ...parts.map((part) => 'base64' in part && atob(part.base64)),
  ]);

/** Files that a run hands to its caller (docs/agent.md#products). */
export const PRODUCT_CASES: readonly ConformanceCase[] = [
  {
    name: 'a file that the run has made is published as an artifact of its task',
    skipFor: needsTools,
    async run(t, executor) {
      const artifacts = memoryArtifacts();
      const make = 'printf made > made.txt';
      const fixture = await executor.setUp(t, (_call, { results }) => {
        if (results.length === 0) return { calls: [['shell_exec', { command: make }]] };
        return results.length === 1
          ? { calls: [['publish_file', { path: 'made.txt' }]] }
          : { text: 'It is published.' };
      });
      const brief = `${block('sh', make)}${block('tool publish_file', '{"path": "made.txt"}')}`;
      const { result } = await runTask(fixture, { brief, artifacts });
      assert.equal(result.status, 'done', JSON.stringify(result));
      assert.deepEqual(published(artifacts), [['file:made.txt', 0, 'made']]);
    },
  },
  {
    name: 'a run that is interrupted after a file was published, and before it knows, publishes it once',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (_call, { results }) => {
        if (results.length === 0) return { calls: [['write_file', { path: 'a.txt', content: 'made' }]] };
        return results.length === 1
          ? { calls: [['publish_file', { path: 'a.txt' }]] }
          : { text: 'It is published.' };
      });
      let adds = 0;
      const artifacts = memoryArtifacts({
        onAdd() {
          adds += 1;
          if (adds > 1) return;
          first.context.controller.abort(INTERRUPTED);
          throw INTERRUPTED;
        },
      });
      const first = startRun(fixture, { artifacts });
      await assert.rejects(first.result);
      const { result } = await runTask(fixture, {
        again: first.task,
        checkpoint: lastCheckpoint(first.context),
        artifacts,
      });
      assert.equal(result.status, 'done', JSON.stringify(result));
      assert.deepEqual(published(artifacts), [['file:a.txt', 0, 'made']]);
    },
  },
];
