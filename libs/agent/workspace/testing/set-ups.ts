import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { SetUpCommands } from '../src/tree/run-set-up.ts';

/** A set-up without a limit of the disk. */
export const setUpBy = (
  commands: readonly string[],
  limits: Partial<Pick<SetUpCommands, 'timeoutMs' | 'maxBytes' | 'shell' | 'env' | 'secrets'>> = {},
): SetUpCommands => ({
  commands,
  shell: '/bin/sh',
  env: {},
  timeoutMs: 60_000,
  maxBytes: undefined,
  disk: { monitor: () => () => ({ [Symbol.dispose]: () => {} }) },
  ...limits,
});

/** A repository that commands can read, and a function that commits files to it. */
export function committedFiles(
  t: TestContext,
  files: Readonly<Record<string, string>>,
): { readonly path: string; commit(files: Readonly<Record<string, string>>): void } {
  const path = tempDir(t);
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-C', path, '-c', 'user.name=u', '-c', 'user.email=u@localhost', ...args]);
  const commit = (changed: Readonly<Record<string, string>>): void => {
    for (const [name, content] of Object.entries(changed)) {
      mkdirSync(join(path, dirname(name)), { recursive: true });
      writeFileSync(join(path, name), content);
    }
    git('add', '.');
    git('commit', '-q', '-m', 'Files');
  };
  git('init', '-q');
  commit(files);
  execFileSync('chmod', ['755', path]);
  return { path, commit };
}
