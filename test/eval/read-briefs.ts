import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EvalBrief, parseBrief } from './brief.ts';
import { FileContent } from './file-content.ts';
import type { BriefModule } from './script/script.ts';

/**
 * All briefs of a folder sorted by name, each with its value of `{{id}}`. A module with the name of a brief adds files and
 * a script to it.
 */
export async function readBriefs(
  dir: string,
  newId: () => string,
): Promise<{ readonly brief: EvalBrief; readonly id: string }[]> {
  const files = readdirSync(dir).filter((file) => file.endsWith('.md'));
  return Promise.all(
    files.sort().map(async (file) => {
      const id = newId();
      const brief = parseBrief(file, readFileSync(join(dir, file), 'utf8'), id);
      return { brief: withModule(brief, await moduleOf(join(dir, `${brief.name}.ts`))), id };
    }),
  );
}

async function moduleOf(path: string): Promise<BriefModule> {
  return existsSync(path) ? await import(path) : {};
}

/** Throws an error that names the brief when its messages and the turns of its script differ in number. */
function withModule(brief: EvalBrief, { files = {}, script }: BriefModule): EvalBrief {
  const turns = 1 + brief.turns.length;
  if (script !== undefined && script.turns.length !== turns)
    throw new Error(
      `${brief.name}: the brief has ${turns} messages, and its script ${script.turns.length} turns`,
    );
  const more = Object.entries(files).map(([path, content]) => [path, FileContent.parse(content)] as const);
  return { ...brief, files: { ...brief.files, ...Object.fromEntries(more) }, script };
}
