import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldEvent, toPeerTask } from './peer-task.ts';

const TASK = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };

type Part = { readonly text: string; readonly mediaType?: string };

/** The parts of an artifact of which a stream sends these chunks. */
function partsAfter(...chunks: readonly (readonly Part[])[]) {
  let task = foldEvent(undefined, { task: TASK });
  for (const [at, parts] of chunks.entries())
    task = foldEvent(task, {
      artifactUpdate: { artifact: { artifactId: 'a', parts: [...parts] }, append: at > 0 },
    });
  return toPeerTask(task ?? assert.fail()).artifacts[0]?.parts;
}

test('a text that a chunk appends goes on in the last part only if that has its media type', () => {
  const markdown = { text: '# Report', mediaType: 'text/markdown' };
  const table = { text: 'a,b', mediaType: 'text/csv' };
  const row = { text: '\n1,2', mediaType: 'text/csv' };
  const kind = 'text';
  assert.deepEqual(partsAfter([markdown], [table]), [
    { kind, ...markdown },
    { kind, ...table },
  ]);
  assert.deepEqual(partsAfter([markdown, table], [row, markdown]), [
    { kind, ...markdown },
    { kind, text: 'a,b\n1,2', mediaType: 'text/csv' },
    { kind, ...markdown },
  ]);
  assert.deepEqual(partsAfter([{ text: 'no ' }], [{ text: 'type', mediaType: '' }]), [
    { kind, text: 'no type' },
  ]);
});
