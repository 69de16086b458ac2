import type { Dirent } from 'node:fs';
import { shownName } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import {
  type AnchoredFiles,
  createGit,
  LEFT_OUT,
  type NotFollowed,
  type Workspace,
} from '@hermes-fleet/workspace';
import { readWhole } from '../tools/files/text-file.ts';
import { PROGRESS_FILE, readProgress } from '../tools/progress.ts';
import { projectLines } from './project.ts';
import { dataBlock, dataLine } from './untrusted-data.ts';

const MAX_ENTRIES = 20;
const MAX_NAME_CHARS = 60;
const MAX_READ_BYTES = 256 * 1024;
const MAX_PROJECTS = 3;
const MAX_OUTSTANDING = 8;
const MAX_OUTSTANDING_CHARS = 160;

/** The workspace at the start of a run. Every text is limited in size and safe to put in a prompt. */
export interface WorkspaceFacts {
  readonly branch: string;
  /** The number of uncommitted paths; undefined when git does not report it. */
  readonly uncommitted: number | undefined;
  /** The first top-level entries without dotfiles, and a line that counts the others. */
  readonly entries: readonly string[];
  readonly project: readonly string[];
  readonly outstanding: string | undefined;
  readonly notFollowed: NotFollowed | undefined;
}

export interface FactsOptions {
  readonly profile: string;
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Inspects a workspace (docs/agent.md#prompt). Leaves out unreadable parts; throws only the signal's reason. */
export async function workspaceFacts(options: FactsOptions): Promise<WorkspaceFacts> {
  const { files, workspace, signal } = options;
  const [top, uncommitted, outstanding, notFollowed] = await Promise.all([
    readOr([], () => topEntries(files), options),
    uncommittedCount(options),
    readOr(undefined, () => outstandingWork(files), options),
    readOr(undefined, async () => workspace.notFollowed?.(), options),
  ]);
  const names = new Set(top.filter((entry) => !entry.isDirectory()).map(({ name }) => name));
  const project = await projectLines({ names, read: (name) => readSmallFile(files, name) });
  signal.throwIfAborted();
  return {
    branch: shownName(workspace.branch, MAX_NAME_CHARS),
    uncommitted,
    entries: entryLines(top),
    project: project.slice(0, MAX_PROJECTS),
    outstanding,
    notFollowed,
  };
}

async function readOr<T>(
  fallback: T,
  read: () => Promise<T>,
  { log }: Pick<FactsOptions, 'log'>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    log.warn({ err: error }, 'a part of the workspace could not be read for the prompt');
    return fallback;
  }
}

async function topEntries(files: AnchoredFiles): Promise<Dirent[]> {
  await using folder = await files.openFolder('.');
  return folder === undefined ? [] : await folder.entries();
}

function entryLines(top: readonly Dirent[]): string[] {
  const shown = top.filter(({ name }) => !name.startsWith('.'));
  const lines = shown
    .slice(0, MAX_ENTRIES)
    .map((entry) => `- ${shownName(entry.name, MAX_NAME_CHARS)}${entry.isDirectory() ? '/' : ''}`);
  const rest = shown.length - lines.length;
  return rest > 0 ? [...lines, `... and ${rest} more`] : lines;
}

async function outstandingWork(files: AnchoredFiles): Promise<string | undefined> {
  const found = await readProgress(files);
  if (found.kind === 'invalid') return `Outstanding work: ${PROGRESS_FILE} is there, and is not valid.`;
  const remaining = found.kind === 'progress' ? found.progress.remaining : [];
  const items = remaining.map((item) => dataLine(item, MAX_OUTSTANDING_CHARS)).filter((item) => item !== '');
  if (items.length === 0) return undefined;
  const lines = items.slice(0, MAX_OUTSTANDING).map((item) => `- ${item}`);
  if (items.length > MAX_OUTSTANDING) lines.push(`... and ${items.length - MAX_OUTSTANDING} more`);
  return `Outstanding work, as ${PROGRESS_FILE} has it:\n${dataBlock(PROGRESS_FILE, lines)}`;
}

/** The text of a small regular file; undefined for anything else, and when it cannot be read. */
async function readSmallFile(files: AnchoredFiles, path: string): Promise<string | undefined> {
  try {
    await using file = await files.openFile(path, 'read');
    const bytes = await readWhole(file, MAX_READ_BYTES, 'not read');
    return bytes.includes(0) ? undefined : bytes.toString('utf8');
  } catch {
    return undefined;
  }
}

const GIT_STATUS_MS = 5000;
const GIT_STATUS = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal', ...LEFT_OUT];

async function uncommittedCount(options: FactsOptions): Promise<number | undefined> {
  const { workspace, clock, log, signal } = options;
  if (workspace.beganClean()) return 0;
  const timeout = new AbortController();
  using _timer = clock.timer(() => timeout.abort(), GIT_STATUS_MS);
  try {
    const place = { cwd: workspace.dir, gitDir: undefined, workTree: undefined, wrap: workspace.wrap };
    const output = await createGit(options).run(place, GIT_STATUS, {
      signal: AbortSignal.any([signal, timeout.signal]),
    });
    return output.split('\0').filter((record) => record !== '').length;
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, 'uncommitted changes could not be counted for the prompt');
    return undefined;
  }
}
