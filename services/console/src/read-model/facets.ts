import { integer, type Queries } from '@hermes-fleet/store';
import type { TaskFacts } from '../projection/task-facts.ts';

/** The values of a facet, in the order of `VALUES`. */
type Values = readonly (string | number)[];

/** A task without a value, such as a reason, has an empty text there. */
const VALUES: Readonly<Record<string, (task: TaskFacts) => string | number>> = {
  entered: ({ entered }) => Number(entered),
  state: ({ state }) => state,
  profile: ({ profile }) => profile,
  peer: ({ peer }) => peer ?? '',
  caller: ({ caller }) => caller,
  reason: ({ reason }) => reason ?? '',
  priority: ({ priority }) => priority ?? '',
};

const NAMES = Object.keys(VALUES);
const FIND = `SELECT n FROM facets WHERE ${NAMES.map((name) => `${name} = ?`).join(' AND ')}`;
const INSERT = `INSERT INTO facets (${NAMES.join(', ')}) VALUES (${NAMES.map(() => '?').join(', ')})`;

const valuesOf = (task: TaskFacts): Values => Object.values(VALUES).map((of) => of(task));

/** The number of a task's facet, which is made where no task had these values yet. `before` is the task as it is stored. */
export function facetOf(
  db: Queries,
  task: TaskFacts,
  before: (TaskFacts & { facet: number }) | undefined,
): number {
  const values = valuesOf(task);
  if (before) {
    const old = valuesOf(before);
    if (values.every((value, index) => value === old[index])) return before.facet;
  }
  const row = db.get(FIND, ...values);
  return row ? integer(row, 'n') : db.run(INSERT, ...values).rowid;
}
