import { readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { QueryOptions } from './query-options.ts';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The release that this executor was built and tested with. */
export const SDK_VERSION = '0.3.330';
/** The variable that names the folder which the package was installed into. */
export const SDK_VARIABLE = 'CLAUDE_AGENT_SDK_DIR';

/** The part of the Claude Agent SDK that is used here; what it yields is parsed as it comes. */
export interface ClaudeSdk {
  query(o: { readonly prompt: string; readonly options: QueryOptions }): ClaudeQuery;
}

export interface ClaudeQuery extends AsyncIterable<unknown> {
  close(): void;
}

/** Where the package was found. */
export interface FoundSdk {
  readonly entry: string;
  readonly version: string;
  /** The `node_modules` that holds it and its program, which Claude Code must be able to read. */
  readonly readable: string;
}

const Manifest = z.object({ version: z.string() });
const Module = z.object({
  query: z.custom<ClaudeSdk['query']>((value) => typeof value === 'function'),
});

/**
 * Finds the optional package: in the folder that CLAUDE_AGENT_SDK_DIR names, else among the application's own packages.
 * CONFIG_INVALID when it is in neither, with the command that installs it.
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
    throw new FleetError('CONFIG_INVALID', `config.yaml executor: ${reason}`, {
      fields: [{ path: 'config.yaml executor', reason }],
      cause,
    });
  }
}

/** Loads the package; CONFIG_INVALID when it is another thing. Claude Code itself takes some 250 MB while it runs. */
export async function loadClaudeSdk({ entry }: FoundSdk): Promise<ClaudeSdk> {
  const loaded: unknown = await import(pathToFileURL(entry).href);
  const module = Module.safeParse(loaded);
  if (module.success) return { query: (o) => module.data.query(o) };
  const reason = `${entry} exports no query(): it is no release of ${PACKAGE} that can be used; install ${SDK_VERSION}`;
  throw new FleetError('CONFIG_INVALID', `config.yaml executor: ${reason}`, {
    fields: [{ path: 'config.yaml executor', reason }],
  });
}
