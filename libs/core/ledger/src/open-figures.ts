import { openReader } from '@hermes-fleet/store';
import type { Figures } from './figure-types.ts';
import { createFigures } from './figures.ts';
import { findKeptCheckpoints } from './late-results.ts';
import { LEDGER } from './schema.ts';
import { findTask, unfinishedTasks } from './task-rows.ts';
import type { Ledger } from './types.ts';

/** The figures of a ledger that another process may own. */
export interface FiguresReader extends Pick<Ledger, 'unfinished' | 'keptCheckpoints' | 'get'> {
  readonly figures: Pick<Figures, 'latestDay' | 'spentOn' | 'spentBy'>;
  close(): void;
}

/** Opens a ledger to read its figures; neither creates, migrates nor owns it. Throws as `openReader` does. */
export function openFigures(file: string): FiguresReader {
  const reader = openReader(file, LEDGER);
  return {
    figures: createFigures(reader),
    unfinished: () => reader.read(unfinishedTasks).map(({ record }) => record),
    keptCheckpoints: () => reader.read(findKeptCheckpoints),
    get: (taskId) => reader.read((db) => findTask(db, taskId)?.record),
    close: reader.close,
  };
}
