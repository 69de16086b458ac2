import { integer, type Queries, rowReader, text } from '@hermes-fleet/store';
import type { Range } from './ranges.ts';

/** Ends of tasks that entered, by the start of their bucket; an empty reason is that of all that were not blocked. */
export const endsIn = (db: Queries, { width, since, until, stepMs }: Range) =>
  db
    .all(
      `SELECT at - at % ?4 AS start, reason, sum(tasks) AS tasks, sum(saved) AS tokens_saved FROM ends
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY start, reason ORDER BY start, reason`,
      ...[width, since, until, stepMs],
    )
    .map(rowReader({ start: integer, reason: text, tasks: integer, tokens_saved: integer }));

const MAX_NEEDS = 50;

/** The unmet requirements that blocked the most tasks, those that `alone` did so first. */
export const needsIn = (db: Queries, { width, since, until }: Range) =>
  db
    .all(
      `SELECT kind, name, sum(tasks) AS tasks, sum(alone) AS alone, sum(saved) AS tokens_saved FROM needs
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY kind, name
       ORDER BY alone DESC, tasks DESC, kind, name LIMIT ?4`,
      ...[width, since, until, MAX_NEEDS],
    )
    .map(rowReader({ kind: text, name: text, tasks: integer, alone: integer, tokens_saved: integer }));
