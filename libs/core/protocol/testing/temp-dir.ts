import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A test's context, or `{ after }` of node:test where there is no context. */
export interface TestScope {
  after(fn: () => unknown): void;
}

export interface TempDirOptions {
  /** The folder of the directory; default: that of the system for temporary files. */
  readonly parent?: string;
  /** The beginning of the directory's name. */
  readonly prefix?: string;
  /** Runs, and is awaited, before the directory is removed: closes what has files open there. */
  readonly closeFirst?: () => unknown;
}

/** The real path of a new directory that is removed after the test. */
export function tempDir(
  t: TestScope,
  { parent = tmpdir(), prefix = 'hermes-', closeFirst }: TempDirOptions = {},
): string {
  const dir = realpathSync(mkdtempSync(join(parent, prefix)));
  t.after(async () => {
    await closeFirst?.();
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}
