import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { SentBundle } from '@hermes-fleet/protocol/api';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { z } from 'zod';
import { type Ended, fleet, keysFolder } from './profile-stub.ts';
import { GIT_ENV, git, newRepository } from './results-stub.ts';

interface Upload extends z.output<typeof SentBundle> {
  readonly prerequisites: readonly string[];
  readonly file: string;
}

/** The repository that a task names, as its dispatch has it. */
export interface Dispatched {
  readonly repository?: { readonly name?: string; readonly bundle?: string; readonly base?: string };
  readonly required: readonly string[];
}

/**
 * A repository of a user, and a profile that takes checkouts as docs/your-repository.md#my-checkout says: it keeps bundles by their
 * SHA-256, and refuses those that build on commits of no other bundle.
 */
export async function checkoutScene(t: TestContext) {
  const root = tempDir(t, { prefix: 'fleet-checkout-' });
  const mine = newRepository(join(root, 'mine'));
  const tmp = join(root, 'tmp');
  const kept = join(root, 'bundles');
  for (const dir of [tmp, kept]) mkdirSync(dir);
  const uploads: Upload[] = [];
  const dispatched: Dispatched[] = [];
  /** What a test changes of the answers. */
  const told: {
    repositories: { name: string; url: string; base: string }[];
    /** What the contexts that have begun work on. */
    contexts: Record<string, { name: string | null }>;
    maxBytes: number;
    /** Capabilities that nobody has. */
    lacking: Set<string>;
    /** Bundles that the profile lists, and has no more. */
    gone: Set<string>;
    list?: (reply: ServerResponse) => void;
    upload?: (request: IncomingMessage, reply: ServerResponse) => void;
  } = { repositories: [], contexts: {}, maxBytes: 1_000_000, gone: new Set(), lacking: new Set() };
  const env: NodeJS.ProcessEnv = { ...GIT_ENV };

  const refuse = (reply: ServerResponse, status: number, code: string, message: string): void =>
    void reply.writeHead(status).end(JSON.stringify({ error: { code, message } }));
  const take = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const content = await buffer(request);
    const bundle = createHash('sha256').update(content).digest('hex');
    const commit = query.get('commit') ?? '';
    const repository = query.get('repository') ?? undefined;
    const [header = ''] = content.toString('latin1').split('\n\n');
    const [, ...lines] = header.split('\n');
    const prerequisites = lines.flatMap((line) => (line.startsWith('-') ? [line.slice(1)] : []));
    const isWell =
      query.get('sha256') === bundle &&
      request.headers['content-type'] === 'application/x-git-bundle' &&
      Number(request.headers['content-length']) === content.length &&
      lines.at(-1) === `${commit} refs/heads/fleet`;
    if (!isWell) return refuse(reply, 422, 'BUNDLE_REFUSED', 'it is not what its sender says');
    const has = (wanted: string) =>
      uploads.some((each) => each.commit === wanted && !told.gone.has(each.bundle));
    if (repository === undefined && !prerequisites.every(has))
      return refuse(reply, 409, 'BUNDLE_LACKS_COMMITS', 'it builds on what is not here');
    const file = join(kept, bundle);
    writeFileSync(file, content);
    const bases = prerequisites.flatMap((wanted) => uploads.find((each) => each.commit === wanted) ?? []);
    const rest = repository ?? bases.find((each) => each.repository !== undefined)?.repository;
    const from_repository = [
      ...prerequisites.filter((each) => bases.every((base) => base.commit !== each)),
      ...bases.flatMap((base) => base.from_repository ?? []),
    ];
    uploads.unshift({ bundle, commit, repository: rest, from_repository, prerequisites, file });
    reply.end(JSON.stringify({ bundle, commit, bytes: content.length }));
  };
  const decide = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const { requirements } = JSON.parse((await buffer(request)).toString());
    const unmet = [...told.lacking]
      .filter((name) => requirements.required_capabilities?.includes(name))
      .map((name) => ({ kind: 'capability', name, detail: `nobody has "${name}"`, transient: false }));
    const chosen = unmet.length > 0 ? null : 'neo';
    reply.end(JSON.stringify({ chosen, considered: [], unmet, waitable: false }));
  };
  const dispatch = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const { id, params } = JSON.parse((await buffer(request)).toString());
    const { task, requirements } = params.message.parts[0].data;
    dispatched.push({ repository: task.repository, required: requirements.required_capabilities });
    const made = { id: 't-1', contextId: 'c-1', status: { state: 'TASK_STATE_WORKING' } };
    reply.end(JSON.stringify({ jsonrpc: '2.0', id, result: { task: made } }));
  };
  const server = createServer((request, reply) => {
    const { method, url = '' } = request;
    if (url === '/jsonrpc') return void dispatch(request, reply);
    if (url === '/fleet/route') return void decide(request, reply);
    if (method === 'POST') return void (told.upload ?? take)(request, reply);
    if (told.list) return told.list(reply);
    const sent = uploads.map(({ file: _file, prerequisites: _prerequisites, ...each }) => each);
    const bundles = { max_bytes: told.maxBytes, sent };
    const context = told.contexts[new URL(url, 'http://x').searchParams.get('context') ?? ''];
    reply.end(JSON.stringify({ repositories: told.repositories, context, bundles }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const { dir } = keysFolder(t);
  const reach = ['--dir', dir, '--reach', `switch=http://127.0.0.1:${address.port}`];

  /** A bundle of the profile that brings a commit, and is there. */
  const bringing = (commit: string): Upload | undefined =>
    uploads.find((each) => each.commit === commit && !told.gone.has(each.bundle));
  const fetch = (into: string, commit: string): void => {
    const upload = bringing(commit);
    if (upload === undefined) return;
    for (const each of upload.prerequisites) fetch(into, each);
    git(into, 'fetch', '--quiet', upload.file, `+refs/heads/fleet:refs/heads/at-${commit}`);
  };
  let restored = 0;
  return {
    ...{ root, mine, tmp, told, uploads, dispatched, env, reach },
    /** Runs `fleet send` in a folder, and returns what became of it once the task is sent. */
    async send(cwd: string, ...more: string[]): Promise<Ended> {
      const before = { cwd: process.cwd(), tmp: process.env.TMPDIR };
      process.chdir(cwd);
      process.env.TMPDIR = tmp;
      try {
        return await fleet(['send', 'Fix it', '--detach', ...more, ...reach], '', env);
      } finally {
        process.chdir(before.cwd);
        if (before.tmp === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = before.tmp;
      }
    },
    /** A new repository with a commit as a worker makes it of bundles, on top of a clone of `from`. */
    restore(commit: string, from?: string): string {
      restored += 1;
      const into = join(root, `restored-${restored}`);
      if (from === undefined) git(root, 'init', '--quiet', '--bare', into);
      else git(root, 'clone', '--quiet', '--bare', from, into);
      fetch(into, commit);
      git(into, 'fsck', '--strict', '--connectivity-only');
      git(into, 'update-ref', 'refs/heads/restored', commit);
      return into;
    },
    /** Temporary files that are left. */
    left: (): string[] => readdirSync(tmp),
    size: (upload: Upload): number => readFileSync(upload.file).length,
  };
}
