import { Gauge, type Registry } from 'prom-client';

/** The version and the revision of the code that a process runs. */
export interface Build {
  readonly version: string;
  /** The revision of the sources, as `FLEET_REVISION` has it; undefined where nobody has said it. */
  readonly revision: string | undefined;
}

/** A name of a commit or of a release. */
const REVISION = /^[\w.+-]{1,64}$/;

/** Registers `fleet_build_info`, whose labels change with a deploy (docs/metrics.md). */
export function registerBuild(registry: Registry, { version, revision = '' }: Build): void {
  const info = new Gauge({
    name: 'fleet_build_info',
    help: '1, with the version and the revision of the code that runs.',
    labelNames: ['version', 'revision'],
    registers: [registry],
  });
  info.set({ version, revision: REVISION.test(revision) ? revision : 'unknown' }, 1);
}
