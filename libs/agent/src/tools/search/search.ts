import type { FileHandle } from 'node:fs/promises';

/** Where to look: an open directory or file that no link can be put in the place of. */
export interface GrepPlace {
  readonly handle: FileHandle;
  readonly kind: 'file' | 'directory';
  /** Relative to the workspace. */
  readonly path: string;
}

export interface GrepSearch {
  readonly pattern: string;
  readonly fixed: boolean;
  readonly ignoreCase: boolean;
  /** Names of files, as a pattern. */
  readonly include: string | undefined;
  /** Whether folders of packages are searched. */
  readonly packages: boolean;
}
