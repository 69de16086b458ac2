import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { TaskRepository } from '../src/tree/workspace.ts';

/** A checkout of a caller, and what it sent of it. */
export interface Checkout {
  readonly dir: string;
  git(...args: string[]): string;
  /** Writes files, commits them and returns the commit. */
  commit(files: Readonly<Record<string, string | Buffer>>): string;
  /** Bundles a commit without what the prerequisites have, as `fleet send` does, and keeps it as sent. Returns the file. */
  send(commit: string, prerequisites?: readonly string[]): string;
  /** What a task names to start from a commit; each commit that is opened is in `opened`. */
  at(commit: string, name?: string): TaskRepository;
  readonly opened: string[];
}

/** Makes a checkout on a branch `main`; `clone`: the repository that it is cloned from. */
export function makeCheckout(t: TestContext, clone?: string): Checkout {
  const dir = tempDir(t);
  const bundles = tempDir(t);
  const sent = new Map<string, string>();
  const opened: string[] = [];
  const run = (args: readonly string[], input?: string): Buffer =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@acme.example', '-C', dir, ...args], {
      maxBuffer: 1024 ** 3,
      ...(input === undefined ? {} : { input }),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
  const git = (...args: string[]): string => run(args).toString().trim();
  if (clone === undefined) git('init', '-q', '-b', 'main');
  else execFileSync('git', ['clone', '-q', clone, dir], { stdio: 'ignore' });
  return {
    dir,
    git,
    opened,
    commit(files) {
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(dir, path)), { recursive: true });
        writeFileSync(join(dir, path), content);
      }
      git('add', '--all');
      git('commit', '-q', '--allow-empty', '-m', `Change ${Object.keys(files).join(', ')}`);
      return git('rev-parse', 'HEAD');
    },
    send(commit, prerequisites = []) {
      const lines = [commit, ...prerequisites.map((each) => `^${each}`)].join('\n');
      const pack = run(['pack-objects', '--revs', '--stdout', '-q'], `${lines}\n`);
      const head = [
        '# v2 git bundle',
        ...prerequisites.map((each) => `-${each}`),
        `${commit} refs/heads/fleet`,
      ];
      const file = join(bundles, `${commit}.bundle`);
      writeFileSync(file, Buffer.concat([Buffer.from(`${head.join('\n')}\n\n`), pack]));
      sent.set(commit, file);
      return file;
    },
    at: (commit, name) => ({
      name,
      base: commit,
      async bundle(wanted) {
        opened.push(wanted);
        const path = sent.get(wanted);
        if (path === undefined) throw new FleetError('NO_RESULT', 'the caller has not sent this commit');
        return { path, bytes: statSync(path).size, [Symbol.asyncDispose]: async () => {} };
      },
    }),
  };
}
