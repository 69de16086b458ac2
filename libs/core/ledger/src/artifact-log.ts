import type { Queries, Store } from '@hermes-fleet/store';
import type { Appended } from './appended.ts';
import { findPart, findWhole } from './artifact-contents.ts';
import { findChunk, findChunks, sumInlineBytes } from './artifact-rows.ts';
import { addChunk, assertValidChunk } from './artifacts.ts';
import type { LiveTasks } from './live-tasks.ts';
import { findNumber } from './task-rows.ts';
import type { Scope } from './task-writes.ts';
import type { Ledger } from './types.ts';

/** The part of a ledger that writes and reads the artifacts of tasks. `announce` is called after COMMIT with each event. */
export function createArtifactLog(
  store: Store,
  live: LiveTasks,
  scope: Scope,
  announce: (appended: Appended) => void,
) {
  /** Reads what the file has for a task; `none` without a read for a task that has no artifact. */
  const read = <T>(taskId: string, none: T, find: (db: Queries, n: number) => T): T =>
    store.read((db) => {
      const known = live.findRecent(taskId);
      if (known?.belongings.has('artifacts') === false) return none;
      const n = known?.n ?? findNumber(db, taskId);
      return n === undefined ? none : find(db, n);
    });

  return {
    addArtifact: async (taskId, chunk, limits) => {
      assertValidChunk(chunk);
      const appended = await store.write(
        (db) => addChunk(db, scope, scope.writes.get(db, taskId), chunk, limits),
        (added) => {
          if (!added) return;
          live.stores(taskId, 'artifacts');
          announce(added);
        },
      );
      return appended?.event;
    },
    artifacts: (taskId) => read(taskId, [], findChunks),
    artifactAt: ({ taskId, seq }) => read(taskId, undefined, (db, n) => findChunk(db, n, seq)),
    artifactPart: ({ taskId, seq }, part) => read(taskId, undefined, (db, n) => findPart(db, n, seq, part)),
    wholeArtifact: (taskId, id) => read(taskId, [], (db, n) => findWhole(db, n, id)),
    inlineArtifactBytes: (taskId) => read(taskId, 0, sumInlineBytes),
  } satisfies Partial<Ledger>;
}
