import { readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { QueryOptions } from './sdk-types.ts';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The release that this executor is tested with. */
export const SDK_VERSION = '0.3.330';
/** Names the folder that the package is installed in. */
export const SDK_VARIABLE = 'CLAUDE_AGENT_SDK_DIR';

/** The part of the Claude Agent SDK that is used here. Its messages are untyped and parsed on arrival. */
export interface ClaudeSdk {
  query(request: { readonly prompt: string; readonly options: QueryOptions }): ClaudeQuery;
}

export interface ClaudeQuery extends AsyncIterable<unknown> {
  close(): void;
}

export interface FoundSdk {
  readonly entry: string;
  readonly version: string;
  /** The `node_modules` folder with the package and its executable, which Claude Code must be able to read. */
  readonly readable: string;
}

const Manifest = z.object({ version: z.string() });
const Module = z.object({
  query: z.custom<ClaudeSdk['query']>((value) => typeof value === 'function'),
});

/**
 * Finds the optional package in the folder of CLAUDE_AGENT_SDK_DIR, else among the application's own packages. Throws
 * CONFIG_INVALID with the command that installs it.
 */
export async function findClaudeSdk(env: { read(name: string): string | undefined }): Promise<FoundSdk> {
  const folder = env.read(SDK_VARIABLE) || undefined;
  const from = folder === undefined ? import.meta.url : join(folder, 'package.json');
  try {
    const entry = await realpath(createRequire(from).resolve(PACKAGE));
    const manifest: unknown = JSON.parse(await readFile(join(dirname(entry), 'package.json'), 'utf8'));
    const readable = entry.slice(
      0,
      entry.lastIndexOf(`${sep}node_modules${sep}`) + `${sep}node_modules`.length,
    );
    return { entry, version: Manifest.parse(manifest).version, readable };
  } catch (cause) {
    const where = folder === undefined ? 'is not installed' : `is not in ${SDK_VARIABLE}=${folder}`;
    const reason = `claude-code needs the package ${PACKAGE}, which ${where}; run npm install --prefix <folder> ${PACKAGE}@${SDK_VERSION} and set ${SDK_VARIABLE} to that folder's absolute path`;
    throw FleetError.ofKey('config.yaml executor', reason, cause);
  }
}

/** Throws CONFIG_INVALID when the package has no query(). Claude Code itself takes about 250 MB while it runs. */
export async function loadClaudeSdk({ entry }: FoundSdk): Promise<ClaudeSdk> {
  const loaded: unknown = await import(pathToFileURL(entry).href);
  const module = Module.safeParse(loaded);
  if (module.success) return { query: (request) => module.data.query(request) };
  const reason = `${entry} exports no query(): it is not a usable release of ${PACKAGE}; install ${SDK_VERSION}`;
  throw FleetError.ofKey('config.yaml executor', reason);
}
