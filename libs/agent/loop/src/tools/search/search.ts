import type { FileHandle } from 'node:fs/promises';

/** The open directory or file to search; a symlink planted later cannot replace it. */
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
  /** Pattern of file names. */
  readonly include: string | undefined;
  /** True to search `node_modules`. */
  readonly packages: boolean;
}
