import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { openBundles } from '../src/bundles/bundles.ts';
import { createGit } from '../src/git/git.ts';
import { type MadeBundle, makeSendingCheckout } from './bundles.ts';

export const signal = new AbortController().signal;

/** A store, its clock, and a checkout of a caller. */
export async function bundleStore(
  t: TestContext,
  options: {
    readonly limits?: { bundles?: number; bytes?: number };
    readonly shortage?: () => Unmet | undefined;
  } = {},
) {
  const root = tempDir(t);
  const dir = join(root, 'bundles');
  const clock = manualClock();
  const git = createGit({ profile: 'neo', clock: systemClock, log: silentLog });
  const open = () => openBundles({ ...options, dir, git, clock, log: silentLog });
  let store = await open();
  return {
    dir,
    clock,
    checkout: makeSendingCheckout(t),
    get store() {
      return store;
    },
    /** Opens the store again, as the next start does. */
    async restart(): Promise<void> {
      store = await open();
    },
    /** Sends a bundle, with some of its fields changed. */
    async send(
      { content, ...bundle }: MadeBundle,
      caller = 'ann',
      changed: Partial<MadeBundle> = {},
    ): Promise<void> {
      await using receiving = await store.receiving();
      writeFileSync(receiving.file, changed.content ?? content, { mode: 0o600 });
      await store.take(caller, { ...bundle, ...changed }, receiving.file, signal);
    },
    /** The files of all bundles, and whatever else there is. */
    files: (): string[] =>
      readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) =>
        entry.isFile() ? [entry.name] : [],
      ),
  };
}
