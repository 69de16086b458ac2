import { type Dirent, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** The first entry of a backup. */
export const MANIFEST_FILE = 'fleet-backup.json';

const FORMAT = 1;

/** A part that a backup can hold: the folder of one member or reader, or the streams. */
const PART = /^(?:(?:keys|state|workspaces)\/(?!\.{1,2}$)[^/]+|nats)$/;

const Manifest = z.strictObject({
  format: z.number(),
  /** The release that made the backup. */
  release: z.string(),
  created_at: z.string(),
  /** Folders below the folder of the fleet (docs/operations.md#folders-and-volumes). */
  parts: z.array(z.string().regex(PART)).min(1),
});

export type Manifest = z.output<typeof Manifest>;

export const makeManifest = (parts: readonly string[], release: string, now: number): Manifest => ({
  format: FORMAT,
  release,
  created_at: new Date(now).toISOString(),
  parts: [...parts],
});

/** Reads the text of a manifest. Throws CONFIG_INVALID if it is none, or one of a later format. */
export function readManifest(text: string, file: string): Manifest {
  const parsed = Manifest.safeParse(parseJson(text));
  if (!parsed.success) throw new FleetError('CONFIG_INVALID', `${file} is no backup of a fleet`);
  const { format, release } = parsed.data;
  if (format === FORMAT) return parsed.data;
  throw new FleetError(
    'CONFIG_INVALID',
    `${file} has the format ${format}, from release ${release}: restore it with that release or a later one`,
  );
}

/**
 * The parts of the fleet in a folder: of one member, or of all members with the streams. Throws CONFIG_INVALID if there
 * are none.
 */
export function findParts(dir: string, member?: string): string[] {
  const below = (folder: string): string[] =>
    readFolders(join(dir, folder)).map((name) => `${folder}/${name}`);
  const all = [
    ...['keys', 'state', 'workspaces'].flatMap(below),
    ...(existsSync(join(dir, 'nats')) ? ['nats'] : []),
  ];
  const parts = member === undefined ? all : all.filter((part) => part.endsWith(`/${member}`));
  if (parts.some((part) => part.startsWith('state/'))) return parts;
  const whose = member === undefined ? 'a fleet' : member;
  throw new FleetError('CONFIG_INVALID', `there is no state of ${whose} in ${dir}: nothing to back up`);
}

function readFolders(dir: string): string[] {
  if (!existsSync(dir)) return [];
  const isFolder = (entry: Dirent): boolean => entry.isDirectory();
  return readdirSync(dir, { withFileTypes: true })
    .filter(isFolder)
    .map(({ name }) => name)
    .sort();
}
