import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asset } from '@hermes-fleet/installation';
import { type FieldError, FleetError } from '@hermes-fleet/protocol';
import { hasCode } from '@hermes-fleet/workspace';
import { readDefinition, type SubagentDefinition } from './definition.ts';

const BUILT_IN = asset('subagents');
const MAX_FILES = 50;
const MAX_BYTES = 64 * 1024;

export interface Subagents {
  /** Sorted by name. */
  readonly definitions: readonly SubagentDefinition[];
  readonly notes: readonly string[];
}

/** Loads the built-in sub-agents and a folder's, which replace them by name. Throws one CONFIG_INVALID for all problems. */
export async function loadSubagents(options: {
  readonly dir: string | undefined;
  /** The profile's model, which its sub-agents use too. */
  readonly model: string;
}): Promise<Subagents> {
  const builtIn = await readFolder(BUILT_IN);
  const own = options.dir === undefined ? [] : await readFolder(options.dir);
  const byName = new Map(builtIn.map(({ definition }) => [definition.name, definition]));
  const notes: string[] = [];
  for (const { file, definition } of own) {
    const { name, model } = definition;
    if (byName.has(name)) notes.push(`sub-agent ${name}: ${file} replaces the built-in one`);
    if (model !== undefined && model !== options.model)
      notes.push(
        `sub-agent ${name}: model in ${file} has no effect: sub-agents use the profile's, ${options.model}`,
      );
    byName.set(name, definition);
  }
  return { definitions: [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), notes };
}

interface Found {
  readonly file: string;
  readonly definition: SubagentDefinition;
}

async function readFolder(dir: string): Promise<Found[]> {
  const names = await namesIn(dir);
  const problems: FieldError[] = [];
  const found: Found[] = [];
  if (names.length > MAX_FILES)
    problems.push({ path: dir, reason: `has ${names.length} sub-agents; at most ${MAX_FILES}` });
  for (const file of names.slice(0, MAX_FILES)) {
    const text = await readText(join(dir, file));
    if ('reason' in text) {
      problems.push({ path: file, reason: text.reason });
      continue;
    }
    const read = readDefinition(file, text.text);
    if ('problems' in read) problems.push(...read.problems);
    else {
      const { name } = read.definition;
      const other = found.find(({ definition }) => definition.name === name);
      if (other !== undefined)
        problems.push({ path: `${file} name`, reason: `${other.file} is called ${name} too; rename one` });
      else found.push({ file, definition: read.definition });
    }
  }
  if (problems.length === 0) return found;
  const list = problems.map(({ path, reason }) => `${path}: ${reason}`).join('; ');
  throw new FleetError('CONFIG_INVALID', `sub-agents cannot be read: ${list}`, { fields: problems });
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    const names = await readdir(dir);
    return names.filter((name) => /^[^.].*\.md$/.test(name) && name !== 'README.md').sort();
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return [];
    const reason =
      'the folder of sub-agents cannot be read; make it a folder of Markdown files, or remove it';
    throw FleetError.ofKey(dir, reason, cause);
  }
}

async function readText(path: string): Promise<{ readonly text: string } | { readonly reason: string }> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { reason: 'is not a regular file; remove it' };
    if (found.size > MAX_BYTES) return { reason: `has ${found.size} bytes; at most ${MAX_BYTES}` };
    return { text: await readFile(path, 'utf8') };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    return { reason: `cannot be read${code}; let the gateway's user read it, or remove it` };
  }
}
