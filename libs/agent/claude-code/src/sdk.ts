import { pathToFileURL } from 'node:url';
import { TESTED_PACKAGES } from '@hermes-fleet/installation';
import { findPackage, type OptionalPackage } from '@hermes-fleet/loop';
import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { QueryOptions } from './sdk-types.ts';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The release that this executor is tested with. */
export const SDK_VERSION = TESTED_PACKAGES[PACKAGE];

/** The part of the Claude Agent SDK that is used here. Its messages are untyped and parsed on arrival. */
export interface ClaudeSdk {
  query(request: { readonly prompt: string; readonly options: QueryOptions }): ClaudeQuery;
}

export interface ClaudeQuery extends AsyncIterable<unknown> {
  close(): void;
}

const Module = z.object({
  query: z.custom<ClaudeSdk['query']>((value) => typeof value === 'function'),
});

/** Throws CONFIG_INVALID with the command that installs it. */
export const findClaudeSdk = (env: { read(name: string): string | undefined }): Promise<OptionalPackage> =>
  findPackage(PACKAGE, env, 'executor');

/** Throws CONFIG_INVALID when the package has no query(). Claude Code itself takes about 250 MB while it runs. */
export async function loadClaudeSdk({ entry }: OptionalPackage): Promise<ClaudeSdk> {
  const loaded: unknown = await import(pathToFileURL(entry).href);
  const module = Module.safeParse(loaded);
  if (module.success) return { query: (request) => module.data.query(request) };
  const reason = `${entry} exports no query(): it is not a usable release of ${PACKAGE}; run fleet add ${PACKAGE}`;
  throw FleetError.ofKey('config.yaml executor', reason);
}
