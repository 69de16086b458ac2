import { open } from 'node:fs/promises';
import { FleetError } from '@hermes-fleet/protocol';

/** The header of a git bundle (https://git-scm.com/docs/gitformat-bundle). */
export interface BundleHeader {
  /** Commits that the receiving repository must have. */
  readonly prerequisites: readonly string[];
  readonly refs: readonly { readonly name: string; readonly commit: string }[];
  /** Where the pack begins, in bytes. */
  readonly packAt: number;
}

/** Room for one ref and many prerequisites, whose lines end with subjects of commits. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Reads the header of a bundle of version 2. Throws PEER_REFUSED for what is none. */
export async function readHeader(file: string, from: string): Promise<BundleHeader> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MAX_HEADER_BYTES) });
  const end = buffer.subarray(0, bytesRead).indexOf('\n\n');
  const [first, ...lines] = buffer.subarray(0, Math.max(end, 0)).toString('latin1').split('\n');
  const read = lines.map((line) => /^(-?)([0-9a-f]{40})(?: (.*))?$/.exec(line));
  if (end < 0 || first !== '# v2 git bundle' || read.includes(null))
    throw new FleetError('PEER_REFUSED', `${from} answers with something that is not a git bundle`);
  const entries = read.map((match) => ({
    isPrerequisite: match?.[1] === '-',
    commit: match?.[2] ?? '',
    name: Buffer.from(match?.[3] ?? '', 'latin1').toString(),
  }));
  return {
    prerequisites: entries.filter(({ isPrerequisite }) => isPrerequisite).map(({ commit }) => commit),
    refs: entries
      .filter(({ isPrerequisite }) => !isPrerequisite)
      .map(({ name, commit }) => ({ name, commit })),
    packAt: end + 2,
  };
}
