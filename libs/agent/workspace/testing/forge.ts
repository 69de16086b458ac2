import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { RemoteRepository } from '../src/tree/repositories.ts';
import { type GitServer, startGitServer } from './git-server.ts';

export interface Forge {
  readonly server: GitServer;
  /** Runs git in a clone of a repository, which is made on first use, and returns what it prints. */
  git(repository: string, ...args: string[]): string;
  /** Commits files to a branch, and pushes it. Returns the commit. */
  push(repository: string, files: Readonly<Record<string, string>>, branch?: string): string;
  /** A repository as it is configured, with branch `main` as base. */
  remote(repository: string, options?: Partial<RemoteRepository>): RemoteRepository;
}

/** Starts a forge with repositories that are made on first use. It ends with the test. */
export async function startForge(t: TestContext, { token }: { token?: string } = {}): Promise<Forge> {
  const root = tempDir(t);
  const clones = tempDir(t);
  const server = await startGitServer(root, token === undefined ? {} : { token });
  t.after(() => server[Symbol.asyncDispose]());
  const made = new Set<string>();
  const run = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@acme.example', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();

  function git(repository: string, ...args: string[]): string {
    const [bare, clone] = [join(root, `${repository}.git`), join(clones, repository)];
    if (!made.has(repository)) {
      run('init', '-q', '--bare', '-b', 'main', bare);
      run('-C', bare, 'config', 'uploadpack.allowFilter', 'true');
      run('init', '-q', '-b', 'main', clone);
      run('-C', clone, 'remote', 'add', 'origin', bare);
      made.add(repository);
    }
    return run('-C', clone, ...args);
  }

  return {
    server,
    git,
    push(repository, files, branch = 'main') {
      const exists = git(repository, 'branch', '--list', branch) !== '';
      const begun = git(repository, 'branch', '--list') !== '';
      if (begun) git(repository, 'checkout', '-q', ...(exists ? [] : ['-b']), branch);
      for (const [path, content] of Object.entries(files)) {
        const file = join(clones, repository, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content);
      }
      git(repository, 'add', '--all');
      git(repository, 'commit', '-q', '--allow-empty', '-m', `Change ${Object.keys(files).join(', ')}`);
      git(repository, 'push', '-q', '--force', 'origin', `HEAD:refs/heads/${branch}`);
      return git(repository, 'rev-parse', 'HEAD');
    },
    remote: (repository, options) => ({
      name: repository,
      url: server.url(`${repository}.git`),
      base: 'main',
      allows: () => false,
      depth: 0,
      allowsStaleBase: false,
      ...(token === undefined ? {} : { tokenName: 'token_env (FORGE_TOKEN)' }),
      token: () => token,
      ...options,
    }),
  };
}
