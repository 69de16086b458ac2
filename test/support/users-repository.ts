import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { COMMAND_GID, COMMAND_UID } from '@hermes-fleet/workspace';
import { mayChangeUsers } from '@hermes-fleet/workspace/testing';

export interface UsersRepository {
  readonly path: string;
  /** Runs git there and returns its output. */
  git(...args: string[]): string;
}

/** Makes a repository as a user has it, with one commit on the branch `main`. */
export function usersRepository(t: TestContext): UsersRepository {
  const root = tempDir(t);
  // The user that the agent's commands run as must be able to enter.
  chmodSync(root, 0o755);
  const path = join(root, 'project');
  mkdirSync(path);
  const identity = ['-c', 'user.name=user', '-c', 'user.email=user@localhost'];
  const git = (...args: string[]): string =>
    execFileSync('git', [...identity, ...args], {
      cwd: path,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  git('init', '-q', '-b', 'main');
  writeFileSync(join(path, 'README.md'), 'hello\n');
  git('add', '--all');
  git('commit', '-q', '-m', 'First');
  return { path, git };
}

/** The brief with which the offline model fixes the test of `brokenProject`. */
export const FIX = 'Fix the failing test.\n\n```sum.sh\necho $(($1 + $2))\n```\n\n```sh\nsh test.sh\n```\n';

/** A project with a failing test, a remote, and a file that is not committed. */
export function brokenProject(t: TestContext): UsersRepository {
  const { path, git } = usersRepository(t);
  writeFileSync(join(path, 'sum.sh'), 'echo $(($1 - $2))\n');
  writeFileSync(join(path, 'test.sh'), 'test "$(sh sum.sh 2 3)" = 5\n');
  git('add', '--all');
  git('commit', '-q', '-m', 'Add sum.sh');
  git('remote', 'add', 'origin', 'https://forge.invalid/acme/project.git');
  writeFileSync(join(path, 'notes.txt'), 'mine\n');
  return { path, git };
}

/** Lets the user that commands run as write there, as work in place needs it. Git of the test's user does not work there any more. */
export function shareWithCommands({ path }: UsersRepository): void {
  if (mayChangeUsers) execFileSync('chown', ['-R', `${COMMAND_UID}:${COMMAND_GID}`, path]);
}
