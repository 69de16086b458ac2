import type { ProcessMetrics } from './metrics.ts';

/** The version and the revision of the code that a process runs. */
export interface Build {
  readonly version: string;
  /** The revision of the sources, as `FLEET_REVISION` or the package has it; undefined where neither has. */
  readonly revision: string | undefined;
}

/** A name of a commit or of a release. */
const REVISION = /^[\w.+-]{1,64}$/;

/** Sets `fleet_build_info`, whose labels change with a deploy (docs/metrics.md). */
export function recordBuild(metrics: Pick<ProcessMetrics, 'set'>, { version, revision = '' }: Build): void {
  const known = REVISION.test(revision) ? revision : 'unknown';
  metrics.set('fleet_build_info', { version, revision: known }, 1);
}
