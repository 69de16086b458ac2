import { randomUUID } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { RepositoryBundles, SentBundle } from '@hermes-fleet/protocol/ports';

interface Kept extends SentBundle {
  readonly caller: string;
  readonly contexts: Set<string>;
}

export interface FileBundles extends RepositoryBundles {
  /** How long the chain of each is said to be. */
  chain: number;
  /** Keeps a bundle as if its caller had sent it. */
  keep(caller: string, bundle: SentBundle, content: string | Buffer): void;
  /** The names of the files that are there. */
  files(): string[];
  /** Called before a bundle is taken; throws to refuse it. */
  onTake: (file: string, signal: AbortSignal) => void | Promise<void>;
}

/** Bundles of any content as files in a folder, without checks. */
export function fileBundles(dir: string, maxBytes = 1024): FileBundles {
  const kept: Kept[] = [];
  const passing = () => {
    const file = join(dir, randomUUID());
    return { file, [Symbol.asyncDispose]: async () => rmSync(file, { force: true }) };
  };
  const bundles: FileBundles = {
    maxBytes,
    chain: 1,
    onTake: () => undefined,
    files: () => readdirSync(dir),
    keep(caller, bundle, content) {
      writeFileSync(join(dir, bundle.bundle), content);
      kept.push({ ...bundle, caller, contexts: new Set() });
    },
    sent: async (caller) =>
      kept
        .filter((each) => each.caller === caller)
        .map(({ bundle, commit, repository }) => ({
          bundle,
          commit,
          repository,
          chain: bundles.chain,
          fromRepository: [],
        })),
    receiving: async () => passing(),
    async take(caller, bundle, file, signal) {
      await bundles.onTake(file, signal);
      renameSync(file, join(dir, bundle.bundle));
      kept.push({ ...bundle, caller, contexts: new Set() });
    },
    async use(caller, bundle, contextId) {
      const found = kept.find((each) => each.caller === caller && each.bundle === bundle);
      if (!found) throw new FleetError('BUNDLE_REFUSED', `bundle ${bundle} is not here: send it again`);
      found.contexts.add(contextId);
    },
    async open(contextId, commit) {
      const found = kept.find((each) => each.contexts.has(contextId) && each.commit === commit);
      if (!found) throw new FleetError('NO_RESULT', `no bundle of context ${contextId} brings ${commit}`);
      const copy = passing();
      copyFileSync(join(dir, found.bundle), copy.file);
      return { path: copy.file, bytes: readFileSync(copy.file).length, ...copy };
    },
  };
  return bundles;
}
