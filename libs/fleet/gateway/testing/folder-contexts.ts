import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ledger } from '@hermes-fleet/ledger';
import type { AgentContexts } from '../src/contexts/context-deletions.ts';
import { DONE, type Script } from './scripts.ts';
import type { TestProfile } from './test-profile.ts';

/** Contexts that are folders with the briefs of their tasks. */
export interface FolderContexts extends AgentContexts {
  /** Keeps the brief in the context's folder, and repeats it in the result. */
  readonly script: Script;
  /** The options of each removal. */
  readonly removals: Parameters<AgentContexts['remove']>[];
  /** The number of removals that fail from now on. */
  failures: number;
}

export function folderContexts(dir: string): FolderContexts {
  const folder = (contextId: string): string => join(dir, encodeURIComponent(contextId));
  const removals: FolderContexts['removals'] = [];
  const contexts: FolderContexts = {
    removals,
    failures: 0,
    async script({ contextId, dispatch }) {
      mkdirSync(folder(contextId), { recursive: true });
      writeFileSync(join(folder(contextId), 'brief.txt'), dispatch.brief);
      return { ...DONE, text: `did: ${dispatch.brief}` };
    },
    async remove(contextId, options) {
      removals.push([contextId, options]);
      if (contexts.failures > 0) {
        contexts.failures -= 1;
        throw new Error('the folder is busy');
      }
      const files = existsSync(folder(contextId));
      rmSync(folder(contextId), { recursive: true, force: true });
      return { files, result: files && options.results === 'delete' ? 'deleted' : 'none' };
    },
  };
  return contexts;
}

/** The files below these folders that contain the text. */
export function filesWith(text: string, ...dirs: readonly string[]): string[] {
  return dirs.flatMap((dir) =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .map((name) => join(dir, name))
      .filter((file) => statSync(file).isFile() && readFileSync(file).includes(text)),
  );
}

/** Asks a serving profile over HTTP to delete a context, as the operator unless told. */
export async function deleteOverHttp(of: TestProfile, contextId: string, query = '', caller = 'operator') {
  const path = `/fleet/contexts/${encodeURIComponent(contextId)}${query}`;
  const reply = await fetch(`http://127.0.0.1:${of.port}${path}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer token-of-${caller}-for-${of.name}` },
    signal: AbortSignal.timeout(20_000),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
  const body: any = await reply.json();
  return { status: reply.status, body };
}

/** Wraps ledgers; `complete` resolves when a deletion is complete. */
export function watchedDeletions() {
  const complete = Promise.withResolvers<void>();
  const wrap = (real: Ledger): Ledger => {
    const look = (): void => {
      if (real.contexts.deletions().length === 0) complete.resolve();
    };
    return {
      ...real,
      contexts: {
        ...real.contexts,
        async record(contextId, progress) {
          const deletion = await real.contexts.record(contextId, progress);
          look();
          return deletion;
        },
        async purge() {
          await real.contexts.purge();
          look();
        },
      },
    };
  };
  return { wrap, complete: complete.promise };
}
