import { type Log, ToolError } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles } from '@hermes-fleet/workspace';
import type { GuardedCall } from '../run/guards.ts';
import type { GuardState } from '../run/run-state.ts';

/** Directory of full outputs, below the workspace. It is not committed, and goes with the tree; in place, with the scratchpads. */
export const OUTPUTS_DIR = '.scratch/outputs';
/** Limit for all outputs of one conversation. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_NAME = 80;

/** Stores a full output for the model to read. Returns the clause that says where it is, or why it was not kept. */
export type Spill = (call: GuardedCall, text: string) => Promise<string>;

export function createSpill(
  options: { readonly taskId: string; readonly files: AnchoredFiles | undefined; readonly log: Log },
  state: Pick<GuardState, 'spilled_bytes'>,
): Spill {
  return async ({ tool, key }, text) => {
    if (options.files === undefined) return 'the full output was not kept';
    const bytes = Buffer.from(text);
    if (state.spilled_bytes + bytes.length > MAX_BYTES) {
      return `the full output was not kept: the outputs of this task already take ${state.spilled_bytes} bytes`;
    }
    const path = `${OUTPUTS_DIR}/${safe(options.taskId)}-${safe(key)}.txt`;
    try {
      await using file = await options.files.openFile(path, 'create');
      await file.truncate(0);
      for (let done = 0; done < bytes.length; ) {
        done += (await file.write(bytes, done, bytes.length - done, done)).bytesWritten;
      }
    } catch (error) {
      options.log.warn({ tool, err: error }, 'the full output of a tool could not be kept');
      return `the full output could not be kept (${reasonOf(error)})`;
    }
    state.spilled_bytes += bytes.length;
    return `${CLAUSE}${path}`;
  };
}

const CLAUSE = 'the full output is in ';

/** True for the clause of an output that was kept. */
export const isKept = (clause: string): boolean => clause.startsWith(CLAUSE);

/** The clause in a shortened output that names the file with all of it; only the marker of this task's files counts. */
export function keptClause(taskId: string, output: string): string | undefined {
  const file = `${OUTPUTS_DIR}/${safe(taskId)}-`.replaceAll('.', '\\.');
  return new RegExp(`; (${CLAUSE}${file}[\\w.]+\\.txt)`).exec(output)?.[1];
}

/** Makes a task ID or call key safe for a file name. */
const safe = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9.]+/g, '_')
    .replace(/^\.+/, '_')
    .slice(-MAX_NAME);

function reasonOf(error: unknown): string {
  if (error instanceof ToolError) return error.message;
  return error instanceof Error && 'code' in error ? String(error.code) : 'an unexpected error';
}
