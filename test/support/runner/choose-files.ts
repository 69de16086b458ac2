import { changedFiles, selectChanged } from './changed.ts';
import { changedSinceRecord, countCommits, partDue, sixthOf } from './due.ts';
import type { RunnerOptions } from './options.ts';
import type { ReachGraph } from './reach.ts';
import { RECORD, type SuiteRecord } from './suite-record.ts';
import { findTestFiles, tierOf } from './test-files.ts';

export interface Chosen {
  /** The files that run: a group begins when that before it has begun. */
  readonly groups: readonly (readonly string[])[];
  /** The files that are left out, because the record vouches for them. */
  readonly leftOut: readonly string[];
  /** What to say before the run. */
  readonly lines: readonly string[];
}

export interface ChoiceOptions {
  readonly root: string;
  readonly options: RunnerOptions;
  /** All test files of the repository. */
  readonly existing: readonly string[];
  readonly record: SuiteRecord;
  readonly graph: (changed: ReadonlySet<string>) => ReachGraph;
}

/** Chooses the test files of a run from its options (`node test/run.ts --help`). */
export function chooseFiles({ root, options, existing, record, graph }: ChoiceOptions): Chosen {
  const { paths, tier, changed, due: onlyDue, sixth } = options;
  const found = paths.length > 0 ? findTestFiles(root, paths) : existing;
  const files = found.filter((file) => tier === 'all' || tierOf(file) === tier);
  if (changed) return { groups: [selectChanged(root, files, changedFiles(root))], leftOut: [], lines: [] };
  if (!onlyDue) return { groups: [files], leftOut: [], lines: [] };
  const since = changedSinceRecord(root, record);
  const { reaches } = graph(since ?? new Set());
  const { due, others } = partDue(files, record, since, reaches);
  const part = sixth ? sixthOf(files, countCommits(root)).filter((file) => others.includes(file)) : [];
  return {
    groups: [due, part],
    leftOut: others.filter((file) => !part.includes(file)),
    lines: [
      ...(since === undefined
        ? [`this clone does not have the commit of ${RECORD}: every file counts as changed`]
        : []),
      `${due.length} files are due, and ${part.length} of the other ${others.length} run too`,
    ],
  };
}
