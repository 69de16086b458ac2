import type { Queries } from '@hermes-fleet/store';
import { type Booking, type Change, KINDS, type TaskFacts } from '../projection/project-task.ts';

/** The widths of the buckets that are kept, in seconds: short ones for hours, long ones for weeks. */
export const WIDTHS = [300, 3_600] as const;

/** The name of what an event does not say. */
export const UNKNOWN = 'unknown';

export const bucketOf = (at: number, widthS: number): number => at - (at % (widthS * 1000));

/** Adds what an event changed to the sums of its time. `isEnd` is true for the event that ends the task. */
export function addToSums(db: Queries, change: Change, at: number): void {
  const { task, booking, ended } = change;
  for (const width of WIDTHS) {
    const bucket = bucketOf(at, width);
    if (booking) addSpending(db, { width, bucket }, task, booking, ended !== undefined);
    if (ended && task.entered) addEnd(db, { width, bucket }, task, ended);
  }
}

interface Bucket {
  readonly width: number;
  readonly bucket: number;
}

/** A task counts when it ends, where it has spent tokens of its own. */
function addSpending(
  db: Queries,
  { width, bucket }: Bucket,
  task: TaskFacts,
  { tokens, counts }: Booking,
  isEnd: boolean,
): void {
  const hasSpent = isEnd && task.ownTokens > 0;
  const overran = isEnd && task.overrun;
  const amounts = [tokens, ...KINDS.map((kind) => counts[kind])];
  if (!hasSpent && !overran && amounts.every((amount) => amount === 0)) return;
  db.run(
    `INSERT INTO spending VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
     ON CONFLICT DO UPDATE SET tokens = tokens + ?7, input = input + ?8, output = output + ?9,
       cache_read = cache_read + ?10, cache_write = cache_write + ?11, reasoning = reasoning + ?12, tasks = tasks + ?13,
       overruns = overruns + ?14, uncounted = uncounted + ?15`,
    ...[width, bucket, task.profile, task.modelTier ?? UNKNOWN, task.model ?? UNKNOWN, rootCallerOf(task)],
    ...amounts,
    Number(hasSpent),
    Number(overran),
    // Tokens of which no event says the kinds.
    hasSpent && !task.hasCounts ? task.ownTokens : 0,
  );
}

const rootCallerOf = ({ rootCaller, entered, caller }: TaskFacts): string =>
  rootCaller ?? (entered && caller !== '' ? caller : UNKNOWN);

function addEnd(
  db: Queries,
  { width, bucket }: Bucket,
  task: TaskFacts,
  { unmet }: NonNullable<Change['ended']>,
): void {
  const isBlocked = task.state === 'blocked';
  const saved = task.savedTokens;
  db.run(
    `INSERT INTO ends VALUES (?1, ?2, ?3, 1, ?4) ON CONFLICT DO UPDATE SET tasks = tasks + 1, saved = saved + ?4`,
    ...[width, bucket, isBlocked ? (task.reason ?? UNKNOWN) : '', saved],
  );
  if (!isBlocked) return;
  const needs = new Map(unmet.map((need) => [`${need.kind}\n${need.name}`, need]));
  for (const { kind, name } of needs.values()) {
    db.run(
      `INSERT INTO needs VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6)
       ON CONFLICT DO UPDATE SET tasks = tasks + 1, alone = alone + ?5, saved = saved + ?6`,
      ...[width, bucket, kind, name, Number(needs.size === 1), saved],
    );
  }
}
