import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Ended, fleet, keysFolder } from './profile-stub.ts';

export const TASK = '01a20d70-d81a-7000-8000-0000000000aa';
export const CONTEXT = '01a20d70-d81a-7000-8000-00005eedc0de';

/** A git with a user and without settings of this machine. */
export const GIT_ENV = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  ...{ GIT_AUTHOR_NAME: 'Ann', GIT_AUTHOR_EMAIL: 'ann@example.org' },
  ...{ GIT_COMMITTER_NAME: 'Ann', GIT_COMMITTER_EMAIL: 'ann@example.org' },
};

/** Runs git in a folder, and returns what it prints. */
export const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, {
    cwd,
    env: { ...process.env, ...GIT_ENV },
    encoding: 'utf8',
    stdio: 'pipe',
  }).trimEnd();

/** Writes files and commits them; returns the commit. */
export function commit(dir: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  git(dir, 'add', '--all');
  git(dir, 'commit', '--quiet', '--message', `Change ${Object.keys(files).join(', ')}`);
  return git(dir, 'rev-parse', 'HEAD');
}

/** A repository with one commit of `a.txt`. */
export function newRepository(dir: string): string {
  mkdirSync(dir);
  git(dir, 'init', '--quiet', '--initial-branch=main');
  commit(dir, { 'a.txt': 'one\ntwo\nthree\n' });
  return dir;
}

type Answer = (reply: ServerResponse) => void;

/**
 * A repository of a user, the clone of a worker with a task's result on a branch, and a profile that answers for the task as
 * docs/operations.md#results says: with what git makes of the worker's clone, or what a test puts in its place.
 */
export async function resultsScene(t: TestContext) {
  const root = tempDir(t, { prefix: 'fleet-results-' });
  const mine = newRepository(join(root, 'mine'));
  const worker = join(root, 'worker');
  git(root, 'clone', '--quiet', mine, worker);
  git(worker, 'switch', '--quiet', '--create', `fleet/${CONTEXT}`);
  const start = git(worker, 'rev-parse', 'HEAD');
  const tmp = join(root, 'tmp');
  mkdirSync(tmp);
  /** What a test changes of the answers; `delivery` is of `artifacts.delivery`. */
  const told: {
    state: string;
    contextId: string;
    artifacts: Record<string, unknown>;
    delivery: Record<string, unknown>;
    /** The result that came late, with the delivery. */
    late?: boolean;
    bundle?: Answer;
    diff?: Answer;
  } = { state: 'TASK_STATE_COMPLETED', contextId: CONTEXT, artifacts: {}, delivery: {} };
  /** What the command has in its environment, beside that of this process. */
  const env: NodeJS.ProcessEnv = { ...GIT_ENV };
  const asked: string[] = [];
  let base = start;

  const bundle = (from: string | undefined, ref = `fleet/${CONTEXT}`): Buffer => {
    const file = join(root, 'made.bundle');
    git(worker, 'bundle', 'create', '--quiet', file, ref, ...(from === undefined ? [] : [`^${from}`]));
    return readFileSync(file);
  };
  const result = (id: string, artifacts: Readonly<Record<string, unknown>>) => ({
    artifactId: id,
    parts: [
      {
        data: {
          ...{ type: 'TASK_RESULT', protocol_version: '2.0', task_id: 'x', status: 'done' },
          ...{ tokens_spent: 7, evidence: [], remaining: [], blocked_reason: null, next_steps: [] },
          artifacts: {
            files_changed: ['a.txt'],
            delivery: {
              ...{ repository: null, branch: `fleet/${CONTEXT}`, state: 'kept' },
              commit: git(worker, 'rev-parse', 'HEAD'),
              base,
              ...told.delivery,
            },
            ...artifacts,
          },
        },
        mediaType: 'application/vnd.hermes.handshake+json',
      },
    ],
  });
  const task = () => ({
    id: TASK,
    contextId: told.contextId,
    status: { state: told.state },
    artifacts: [result('task-result', told.artifacts), ...(told.late ? [result('late-result', {})] : [])],
  });
  const part = (url: URL): string | Buffer | undefined => {
    const at = `/fleet/tasks/${TASK}`;
    const path = url.searchParams.get('path');
    const stat = url.searchParams.get('stat') === 'true' ? ['--stat'] : [];
    if (url.pathname === `${at}/diff`) {
      const diff = git(worker, 'diff', ...stat, base, 'HEAD', ...(path === null ? [] : ['--', path]));
      return diff && `${diff}\n`;
    }
    if (url.pathname === `${at}/bundle`)
      return bundle(url.searchParams.get('whole') === 'true' ? undefined : start);
    const name = decodeURIComponent(url.pathname.slice(`${at}/files/`.length));
    return readdirSync(worker).includes(name)
      ? execFileSync('git', ['cat-file', 'blob', `HEAD:${name}`], { cwd: worker })
      : undefined;
  };
  const server = createServer((request, reply) => {
    const url = new URL(request.url ?? '', 'http://x');
    if (request.method === 'POST')
      return void reply.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: task() }));
    asked.push(`${url.pathname}${url.search}`);
    if (url.pathname.endsWith('/bundle') && told.bundle) return told.bundle(reply);
    if (url.pathname.endsWith('/diff') && told.diff) return told.diff(reply);
    const content = part(url);
    const none = { error: { code: 'NO_RESULT', message: 'there is no file\nof this name' } };
    reply.statusCode = content === undefined ? 404 : 200;
    reply.end(content ?? JSON.stringify(none));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const { dir } = keysFolder(t);
  const reach = ['--dir', dir, '--reach', `neo=http://127.0.0.1:${address.port}`];
  return {
    ...{ root, mine, worker, tmp, start, told, asked, bundle, reach },
    env,
    /** A task of the context: returns the commit with these files. */
    work(files: Readonly<Record<string, string | Buffer>>): string {
      base = git(worker, 'rev-parse', 'HEAD');
      return commit(worker, files);
    },
    /** Runs a command about the task in a folder. */
    async run(cwd: string, verb: string, ...more: string[]): Promise<Ended> {
      const before = { cwd: process.cwd(), tmp: process.env.TMPDIR };
      process.chdir(cwd);
      process.env.TMPDIR = tmp;
      try {
        return await fleet([verb, TASK, ...more, ...reach], '', env);
      } finally {
        process.chdir(before.cwd);
        if (before.tmp === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = before.tmp;
      }
    },
  };
}

/** All of a repository that a command may change by mistake: refs, index, files, settings. */
export const stateOf = (dir: string): string[] => [
  git(dir, 'for-each-ref', '--format=%(refname) %(objectname)'),
  git(dir, 'config', '--local', '--list'),
  ...(git(dir, 'rev-parse', '--is-inside-work-tree') === 'true'
    ? [git(dir, 'status', '--porcelain=v2', '--branch', '-z'), git(dir, 'stash', 'list')]
    : []),
];

type Scene = Awaited<ReturnType<typeof resultsScene>>;

/** A pull that must fail with this message, and change nothing in the repository nor leave a file. */
export async function refused(scene: Scene, dir: string, message: RegExp, ...more: string[]): Promise<void> {
  const before = stateOf(dir);
  const { code, stdout, stderr } = await scene.run(dir, 'pull', ...more);
  assert.deepEqual([code, stdout], [1, ''], stderr);
  assert.match(stderr, message);
  assert.equal(stderr.split('\n').filter((line) => !/^(hint: .*)?$/.test(line)).length, 1, stderr);
  assert.deepEqual(stateOf(dir), before);
  assert.deepEqual(readdirSync(scene.tmp), []);
}

/** What a command printed that must succeed. */
export function done({ code, stdout, stderr }: Ended): string {
  assert.deepEqual([code, stderr], [0, '']);
  return stdout;
}
