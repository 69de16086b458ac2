import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fleet, until } from './fleet.ts';
import { type DispatchOptions, dispatch } from './rpc.ts';

/** A block of a brief that has the offline runbook call a tool. */
export const tool = (name: string, input: unknown): string =>
  `\`\`\`tool ${name}\n${JSON.stringify(input)}\n\`\`\``;
export const shell = (...commands: readonly string[]): string => `\`\`\`sh\n${commands.join('\n')}\n\`\`\``;

/** The line in which offline/runbook reports a call of a tool. */
interface Called {
  readonly tool: string;
  readonly outcome: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a tool answers is what the test is about
  readonly result: any;
}

/** A brief that switch's own agent carries out, and reports on in JSON. */
export const ownTask = (blocks: readonly string[], options: Partial<DispatchOptions> = {}) =>
  dispatch({
    brief: blocks.join('\n\n'),
    ...options,
    task: { reply_schema: 'json', ...options.task },
    routing: { target: 'switch' },
  });

/** The calls that a run reports; one that is not done has no output, and says it in its text. */
// biome-ignore lint/suspicious/noExplicitAny: a TASK_RESULT under test
export const calledIn = (result: any): Map<string, Called> => {
  const { called }: { called: readonly Called[] } = result.output ?? JSON.parse(result.text);
  return new Map(called.map((each) => [each.tool, each]));
};

export const untilThere = (fleet: Fleet, file: string): Promise<void> =>
  until(
    () => globSync(`workspaces/*/contexts/*/tree/${file}`, { cwd: fleet.dir }).length > 0,
    `${file} to be there`,
  );

/** Work that lasts until the test makes a file, and tells when it runs, by files that are no part of the work. */
export const lasting = (name: string): string =>
  shell(
    'mkdir -p .scratch',
    `touch .scratch/${name}-begun`,
    `for i in $(seq 1 300); do test -e .scratch/${name}-over && break; sleep 0.1; done`,
    `ls .scratch/${name}-over`,
  );

/** Ends that work. */
export function letGo(fleet: Fleet, name: string): void {
  const [begun = ''] = globSync(`workspaces/*/contexts/*/tree/.scratch/${name}-begun`, { cwd: fleet.dir });
  writeFileSync(join(fleet.dir, begun.replace('-begun', '-over')), '');
}
