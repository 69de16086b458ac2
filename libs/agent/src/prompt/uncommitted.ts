import type { Clock, Log } from '@hermes-fleet/protocol';
import { createGit, LEFT_OUT, type Workspace } from '@hermes-fleet/workspace';

/** A tree that takes git longer than this is not counted. */
const MAX_MS = 5000;
const STATUS = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal', ...LEFT_OUT];

/** How many paths of the workspace are not committed as they are; undefined where git does not say. */
export async function uncommittedCount(o: {
  readonly profile: string;
  readonly workspace: Workspace;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}): Promise<number | undefined> {
  const { dir, wrap } = o.workspace;
  const late = new AbortController();
  using _timer = o.clock.timer(() => late.abort(), MAX_MS);
  try {
    const place = { cwd: dir, gitDir: undefined, workTree: undefined, wrap };
    const output = await createGit(o).run(place, STATUS, AbortSignal.any([o.signal, late.signal]));
    return output.split('\0').filter((record) => record !== '').length;
  } catch (error) {
    o.signal.throwIfAborted();
    o.log.warn({ err: error }, 'what is not committed could not be counted for the prompt');
    return undefined;
  }
}
