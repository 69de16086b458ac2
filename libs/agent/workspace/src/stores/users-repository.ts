import { access, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';

/** Returns the real path of the user's repository. Throws CONFIG_INVALID when there is none. */
export async function usersRepository(path: string): Promise<string> {
  try {
    await access(join(path, '.git'));
    return await realpath(path);
  } catch (cause) {
    throw unusable(path, 'it is not a git repository', cause);
  }
}

export const unusable = (path: string, reason: string, cause?: unknown): FleetError =>
  FleetError.ofKey('config.yaml workspace.path', `${path} cannot be used: ${reason}`, cause);
