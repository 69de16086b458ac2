import type { Resolve } from '@hermes-fleet/net';
import { shownName } from '@hermes-fleet/protocol';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import { type AdmittedTask, type Clock, type Log, ToolError, taskFields } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles } from '@hermes-fleet/workspace';
import { type Attached, byLength, type DataPart, typeOf } from '../prompt/attached.ts';
import { dataLine } from '../prompt/untrusted-data.ts';
import { placeFiles } from './place-files.ts';
import { type FileLimits, type ReceivedFile, readFiles, UnreadableFile } from './read-files.ts';

export interface InboxOptions {
  /** Undefined where the model has no tools to read files with. */
  readonly files: FileLimits | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly resolve?: Resolve | undefined;
}

const MAX_TYPE_CHARS = 100;
const MAX_PATH_CHARS = 300;

/**
 * Writes a task's files, and data too long for its message, into the workspace (docs/agent.md#data-and-files). Refuses the
 * task, with nothing written, when a file cannot be read. Throws the reason of `signal`.
 */
export async function receive(
  { files: limits, clock, log, resolve }: InboxOptions,
  task: AdmittedTask,
  workspace: AnchoredFiles,
  signal: AbortSignal,
): Promise<Attached | { readonly refused: Unmet }> {
  const { shown, long } = byLength(task.parts);
  const data = task.parts.filter((part) => part.kind === 'data');
  const sent = task.parts.filter((part) => part.kind === 'file');
  if (limits === undefined) return sent.length === 0 ? { data, files: [] } : { refused: NO_TOOLS };
  if (sent.length === 0 && long.length === 0) return { data, files: [] };
  try {
    const received = await readFiles({ ...limits, clock, resolve, signal }, sent);
    const files = await placeFiles(workspace, task.id, [...received, ...long.map(asFile)]);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    log.info({ ...taskFields(task), files: files.length, bytes }, 'the files of a task are in its workspace');
    return {
      data: shown,
      files: files.map(
        ({ path, mediaType, size }) =>
          `${shownName(path, MAX_PATH_CHARS)} (${dataLine(mediaType, MAX_TYPE_CHARS)}, ${size} bytes)`,
      ),
    };
  } catch (error) {
    if (error instanceof UnreadableFile) return { refused: unmet(error.message, error.transient) };
    if (error instanceof ToolError) return { refused: unmet(error.message, false) };
    throw error;
  }
}

const unmet = (detail: string, transient: boolean): Unmet => ({
  kind: 'capability',
  name: 'files',
  detail,
  transient,
});

const NO_TOOLS = unmet('the task has files, and the model of this profile has no tools to read them', false);

const asFile = (part: DataPart): ReceivedFile => ({
  name: `data-${part.index + 1}.json`,
  mediaType: typeOf(part),
  bytes: Buffer.from(`${JSON.stringify(part.data, undefined, 2)}\n`),
});
