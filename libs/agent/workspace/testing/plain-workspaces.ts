import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { anchoredFiles } from '../src/files/anchored-path.ts';
import { shortened } from '../src/git/diff.ts';
import { contextName } from '../src/stores/context-name.ts';
import { branchOf } from '../src/stores/result-refs.ts';
import { isInPlaceBase, startedElsewhere } from '../src/tree/in-place.ts';
import type { OpenTree, Workspace, Workspaces } from '../src/tree/workspace.ts';

/** What a commit holds: for each path, the kind of its file and its contents. */
const Files = z.record(z.string(), z.string());
type Files = Readonly<z.output<typeof Files>>;

/**
 * Workspaces without git and confinement, for tests of what is done in a tree: a folder for each context, where files are
 * read and written and commands run as they are. A commit is a copy of all contents, and what changed is the difference of
 * two copies; both are there again for the next process on the same `root`. Not as with git: no file is ignored or refused,
 * every context begins empty, and none can be removed. `plain-workspaces.test.ts` compares them with the real ones.
 */
export function plainWorkspaces(root: string): Workspaces {
  const contexts = join(root, 'contexts');
  const names = (): Promise<string[]> => readdir(contexts).catch(() => []);
  return {
    openWorkspace: (contextId) => openPlain(root, contextName(contextId)),
    repoState: async () => ({ branch: 'main', clean: true }),
    trees: async () =>
      (await names()).map((name) => {
        const dir = join(contexts, name, 'tree');
        return { dir, openTree: async () => plainTree(dir) };
      }),
  };
}

const plainTree = (dir: string): OpenTree => ({
  dir,
  files: anchoredFiles(dir, false),
  wrap: (command, args) => ({ command, args }),
  [Symbol.asyncDispose]: async () => {},
});

async function openPlain(root: string, name: string): Promise<Workspace> {
  const context = join(root, 'contexts', name);
  const commits = join(root, 'commits');
  const [dir, tmp, home] = [join(context, 'tree'), join(context, 'tmp'), join(context, 'home')];
  for (const folder of [commits, dir, tmp, home]) await mkdir(folder, { recursive: true });
  const tip = join(context, 'tip');
  let base: string | null = null;
  let isClean = false;

  const readCommit = async (id: string): Promise<Files> =>
    Files.parse(JSON.parse(await readFile(join(commits, id), 'utf8')));
  /** Makes a commit of all files of the tree. */
  async function commit(): Promise<string> {
    const text = JSON.stringify(await contentsOf(dir));
    const id = createHash('sha1').update(text).digest('hex');
    await writeFile(join(commits, id), text);
    await writeFile(tip, id);
    return id;
  }
  async function changesSince(from: string, now: Files): Promise<[path: string, before?: string][]> {
    const before = await readCommit(from);
    const paths = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
    return paths.flatMap((path) => (before[path] === now[path] ? [] : [[path, before[path]]]));
  }
  async function end(): Promise<[]> {
    await rm(tmp, { recursive: true });
    await mkdir(tmp);
    await commit();
    return [];
  }

  return {
    ...plainTree(dir),
    branch: branchOf(name),
    env: { HOME: home, TMPDIR: tmp },
    started: { named: async () => [], read: async () => undefined },
    async begin() {
      await end();
      base = await readFile(tip, 'utf8');
      isClean = true;
      return { base };
    },
    beganClean: () => isClean,
    async resume(commit) {
      if (isInPlaceBase(commit)) throw startedElsewhere('the working tree of the repository');
      base = commit;
    },
    save: async () => void (await end()),
    async commit() {
      const left = await end();
      const commit = await readFile(tip, 'utf8');
      if (commit === base) return { left };
      return { left, delivery: { repository: null, branch: branchOf(name), commit, base, state: 'kept' } };
    },
    leave: commit,
    changedSince: async (commit) =>
      (await changesSince(commit, await readCommit(await readFile(tip, 'utf8')))).map(([path]) => path),
    async diffSince(commit, maxChars) {
      const now = await contentsOf(dir);
      const changes = await changesSince(commit, now);
      return shortened(changes.map(([path, before]) => diffOf(path, before, now[path])).join(''), maxChars);
    },
  };
}

/** Paths that no commit holds (docs/agent.md#progress-scratchpad-memory). */
const LEFT_OUT =
  /^(?:\.git|\.scratch|PROGRESS\.json|\.PROGRESS\.json\.tmp|PROGRESS\.invalid-[^/]*\.json)(?:\/|$)/;

/** The files and links below a folder, in the order of their paths. */
async function contentsOf(dir: string): Promise<Files> {
  const found: [path: string, contents: string][] = [];
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const full = join(entry.parentPath, entry.name);
    const path = full.slice(dir.length + 1);
    if (LEFT_OUT.test(path)) continue;
    if (entry.isSymbolicLink()) found.push([path, `link ${await readlink(full)}`]);
    else if (entry.isFile()) {
      const { mode } = await stat(full);
      const kind = mode & 0o100 ? 'program' : 'file';
      found.push([path, `${kind} ${await readFile(full, 'latin1')}`]);
    }
  }
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A diff that has all lines of a file as removed, and all as added. */
function diffOf(path: string, before: string | undefined, after: string | undefined): string {
  const lines = (sign: string, contents: string): string =>
    contents
      .replace(/^\w+ /, '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => `${sign}${line}\n`)
      .join('');
  const from = before === undefined ? '/dev/null' : `a/${path}`;
  const to = after === undefined ? '/dev/null' : `b/${path}`;
  const removed = before === undefined ? '' : lines('-', before);
  const added = after === undefined ? '' : lines('+', after);
  return `diff --git a/${path} b/${path}\n--- ${from}\n+++ ${to}\n${removed}${added}`;
}
