import type { FileHandle } from 'node:fs/promises';

/** The header of a git bundle (https://git-scm.com/docs/gitformat-bundle). */
export interface BundleHeader {
  /** Commits that are not in the bundle. */
  readonly prerequisites: readonly string[];
  readonly refs: readonly { readonly name: string; readonly commit: string }[];
  /** Where the pack begins, in bytes. */
  readonly packAt: number;
}

/** Room for one ref, and some hundred prerequisites. */
const MAX_HEADER_BYTES = 64 * 1024;
const VERSION = '# v2 git bundle';
const LINE = /^(-?)([0-9a-f]{40})(?: (.*))?$/;

/** Reads the header of a bundle of version 2; undefined for what is none. The file is read from its pack on afterwards. */
export async function readBundleHeader(file: FileHandle): Promise<BundleHeader | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf('\n\n');
  if (end < 0) return undefined;
  const [first, ...lines] = buffer.subarray(0, end).toString('utf8').split('\n');
  const read = lines.flatMap((line) => {
    const [, mark, commit = '', name = ''] = LINE.exec(line) ?? [];
    return mark === undefined ? [] : [{ isPrerequisite: mark === '-', commit, name }];
  });
  if (first !== VERSION || read.length !== lines.length) return undefined;
  const packAt = end + 2;
  // Whoever gets the descriptor, as a child does, reads on from here.
  await file.read(Buffer.alloc(packAt), 0, packAt, null);
  return {
    prerequisites: read.filter(({ isPrerequisite }) => isPrerequisite).map(({ commit }) => commit),
    refs: read.filter(({ isPrerequisite }) => !isPrerequisite).map(({ commit, name }) => ({ commit, name })),
    packAt,
  };
}
