import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { COMMAND_GID, COMMAND_UID, gitIdentity } from '@hermes-fleet/workspace';
import { makePlace, mayChangeUsers, type Place } from '@hermes-fleet/workspace/testing';
import type { Agent } from '../src/agent.ts';
import { makeAgent, type TestAgentOptions } from './harness.ts';

/** A user's repository that the agent's commands can share. */
export interface UsersTree {
  readonly dir: string;
  readonly place: Place;
  git(...args: string[]): string;
  write(path: string, text: string): void;
  read(path: string): string;
  has(path: string): boolean;
  /** The lines of `git status --porcelain`. */
  status(): string[];
  /** The subjects of the commits, newest first. */
  log(): string[];
  /** Creates an agent that works in place. */
  agent(options?: TestAgentOptions): Promise<Agent>;
}

const USER = mayChangeUsers ? { uid: COMMAND_UID, gid: COMMAND_GID } : {};

export function usersTree(t: TestContext, files: Readonly<Record<string, string>> = {}): UsersTree {
  const place = makePlace(t);
  const dir = join(place.stateDir, '..', 'project');
  const share = (path: string): void => {
    if (mayChangeUsers) chownSync(path, COMMAND_UID, COMMAND_GID);
  };
  mkdirSync(dir);
  share(dir);
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: dir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: '/nonexistent', ...gitIdentity('user') },
      ...USER,
    });
  const write = (path: string, text: string): void => {
    const file = join(dir, path);
    if (!existsSync(dirname(file))) {
      mkdirSync(dirname(file));
      share(dirname(file));
    }
    writeFileSync(file, text);
    share(file);
  };
  git('init', '-q', '-b', 'trunk');
  for (const [path, text] of Object.entries({ 'README.md': 'hello\n', ...files })) write(path, text);
  git('add', '--all');
  git('commit', '-q', '-m', 'first');
  const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
  return {
    dir,
    place,
    git,
    write,
    read: (path) => readFileSync(join(dir, path), 'utf8'),
    has: (path) => existsSync(join(dir, path)),
    status: () => lines(git('status', '--porcelain')),
    log: () => lines(git('log', '--format=%s')),
    agent: (options) =>
      makeAgent(t, { workspace: { path: dir, isolation: 'in_place' } }, { ...options, place }),
  };
}
