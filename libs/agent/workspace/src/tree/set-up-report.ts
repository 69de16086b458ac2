import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { Uncommitted } from '../git/add-all.ts';
import { unlessAbsent } from '../process/system-error.ts';

const FailureSchema = z.object({ command: z.string(), reason: z.string(), output: z.string() });
const ReportSchema = z.object({
  commands: z.array(z.string()).readonly(),
  failure: FailureSchema.optional(),
});

export type SetUpProgress = 'started' | 'done' | 'failed';

/** Why the set-up is not complete; `output` is the end of what the command printed. */
export type SetUpFailure = z.output<typeof FailureSchema>;

/** What prepared the tree of a context when it was made, and why that is not complete, if so. */
export type SetUpReport = z.output<typeof ReportSchema>;

const fileOf = (context: string): string => join(context, 'set-up');

/** Records, in the folder of the context, which commands cannot write to, how its tree was prepared. */
export const recordSetUp = (context: string, report: SetUpReport): Promise<void> =>
  writeFile(fileOf(context), JSON.stringify(report));

/** Undefined for a context that was made without a set-up. */
export async function readSetUp(context: string): Promise<SetUpReport | undefined> {
  const text = (await readFile(fileOf(context), 'utf8').catch(unlessAbsent)) ?? '';
  // A power cut may have cut the file.
  return ReportSchema.safeParse(parseJson(text)).data;
}

/** What a failed set-up leaves to do, for tasks that changed files. */
export function toMend({ failure }: SetUpReport): Uncommitted[] {
  if (failure === undefined) return [];
  const command = failure.command === '' ? '' : `\`${failure.command}\`: `;
  return [
    {
      todo: `mend the set-up (setup in the configuration), without which this context began: ${command}${failure.reason}`,
      certain: false,
    },
  ];
}
