import { type Share, sample } from './sample.ts';

/** Crashes of one kind of process, each at another point of its work. */
export interface CrashSweep<Point, Left> {
  /** Lives once without a crash, where that tells them, and names the points at which others die. */
  start(): Promise<readonly Point[]> | readonly Point[];
  /** Lets a process work until it dies at the point; resolves with what it leaves. Rejects if it outlives the point. */
  act(point: Point): Promise<Left>;
  /** Starts the next process on what was left, and asserts what must hold. */
  check(left: Left, point: Point): Promise<void> | void;
  /** How many of the points are tried. */
  readonly share: Share;
  /** How many are tried side by side: 1, unless each has a state of its own. */
  readonly atOnce?: number;
}

/**
 * Crashes a process at each point of the share, in their order. Resolves with their number. Rejects where there is no
 * point; any other error names its point.
 */
export async function sweepCrashes<Point, Left>(
  t: { diagnostic(line: string): void },
  { start, act, check, share, atOnce = 1 }: CrashSweep<Point, Left>,
): Promise<number> {
  const points = sample(await start(), share, (line) => t.diagnostic(line));
  if (points.length === 0) throw new Error('there is no point to die at');
  const next = points.values();
  async function sweep(): Promise<void> {
    for (const point of next)
      try {
        await check(await act(point), point);
      } catch (cause) {
        throw new Error(`died at ${JSON.stringify(point)}`, { cause });
      }
  }
  await Promise.all(Array.from({ length: atOnce }, sweep));
  return points.length;
}
