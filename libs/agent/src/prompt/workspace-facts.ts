import type { Dirent } from 'node:fs';
import type { Clock, Log } from '@hermes-fleet/protocol';
import type { AnchoredFiles, Workspace } from '@hermes-fleet/workspace';
import { dataName } from './data.ts';
import { outstandingWork } from './outstanding.ts';
import { projectLines } from './project.ts';
import { readSmallFile } from './small-file.ts';
import { uncommittedCount } from './uncommitted.ts';

const MAX_ENTRIES = 20;
const MAX_NAME_CHARS = 60;
const MAX_READ_BYTES = 256 * 1024;
const MAX_PROJECTS = 3;

/** What is there when a run starts. Every text in it is capped and in a form that may stand in a prompt. */
export interface WorkspaceFacts {
  readonly branch: string;
  /** Paths that are not committed; undefined where git does not say. */
  readonly uncommitted: number | undefined;
  /** The first entries at its top, without dotfiles, and how many more there are. */
  readonly entries: readonly string[];
  readonly project: readonly string[];
  readonly outstanding: string | undefined;
}

export interface FactsOptions {
  readonly profile: string;
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Looks at a workspace (design 3, B5). What cannot be read is left out; throws nothing but the signal's reason. */
export async function workspaceFacts(o: FactsOptions): Promise<WorkspaceFacts> {
  const [top, uncommitted, outstanding] = await Promise.all([
    readable(o, [], () => topEntries(o.files)),
    uncommittedCount(o),
    readable(o, undefined, () => outstandingWork(o.files)),
  ]);
  const names = new Set(top.filter((entry) => !entry.isDirectory()).map(({ name }) => name));
  const project = await projectLines({
    names,
    read: (name) => readSmallFile(o.files, name, MAX_READ_BYTES),
  });
  o.signal.throwIfAborted();
  return {
    branch: dataName(o.workspace.branch, MAX_NAME_CHARS),
    uncommitted,
    entries: listed(top),
    project: project.slice(0, MAX_PROJECTS),
    outstanding,
  };
}

async function readable<T>({ log }: FactsOptions, otherwise: T, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    log.warn({ err: error }, 'a part of the workspace could not be read for the prompt');
    return otherwise;
  }
}

async function topEntries(files: AnchoredFiles): Promise<Dirent[]> {
  await using folder = await files.openFolder('.');
  return folder === undefined ? [] : await folder.entries();
}

function listed(top: readonly Dirent[]): string[] {
  const shown = top.filter(({ name }) => !name.startsWith('.'));
  const lines = shown
    .slice(0, MAX_ENTRIES)
    .map((entry) => `- ${dataName(entry.name, MAX_NAME_CHARS)}${entry.isDirectory() ? '/' : ''}`);
  const rest = shown.length - lines.length;
  return rest > 0 ? [...lines, `... and ${rest} more`] : lines;
}
