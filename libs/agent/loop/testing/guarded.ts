import type { JsonValue } from '@hermes-fleet/protocol';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import type { z } from 'zod';
import { AgentConfigSchema } from '../src/config/config-yaml.ts';
import { createGuards, type GuardsOptions } from '../src/guards/guards.ts';
import type { GuardedCall, Guards } from '../src/run/guards.ts';
import type { GuardState, JournalEntry } from '../src/run/run-state.ts';

export type Hooks = z.input<typeof AgentConfigSchema>['hooks'];

/** A call with its result. */
export interface Act {
  readonly call: Omit<GuardedCall, 'key'>;
  readonly result: ToolResult;
}

const act = (tool: string, input: object, mutates: boolean, result: ToolResult): Act => ({
  call: { tool, input, mutates },
  result,
});

export const edit = (path: string, detail = path): Act =>
  act('edit_file', { path, old_text: 'a', new_text: 'b' }, true, { ok: true, output: { path }, detail });

export const look = (path: string, output: JsonValue = 'text'): Act =>
  act('read_file', { path }, false, { ok: true, output, detail: path });

export const shell = (command: string, exitCode = 0, stdout = ''): Act =>
  act('shell_exec', { command }, true, {
    ok: exitCode === 0,
    output: { exit_code: exitCode, ...(stdout !== '' && { stdout }) },
    detail: command,
    exitCode,
  });

export const fails = (tool: string, input: object, output: string): Act =>
  act(tool, input, true, { ok: false, output });

export interface Guarded {
  readonly guards: Guards;
  readonly journal: JournalEntry[];
  /** The reported guards, as `guard level`. */
  readonly fired: string[];
  /** Passes acts to the guards, each as a step. Returns their notes, and `stop: …` when a guard ends the conversation. */
  after(...acts: Act[]): Promise<string[]>;
}

export function guarded(
  hooks: Hooks = {},
  options: Partial<GuardsOptions> = {},
  state?: GuardState,
): Guarded {
  const journal = options.journal ?? [];
  const fired: string[] = [];
  const guards = createGuards(
    AgentConfigSchema.parse({ hooks }).hooks,
    {
      taskId: 'task',
      journal,
      files: undefined,
      canRun: true,
      log: silentLog,
      onGuard: (guard, level) => fired.push(`${guard} ${level}`),
      ...options,
    },
    state,
  );
  let turn = state?.loop.step ?? 0;
  return {
    guards,
    journal,
    fired,
    async after(...acts) {
      const told: string[] = [];
      for (const { call, result } of acts) {
        const stopped = guards.state().stop;
        const { notes } = await guards.after({ ...call, key: `${turn}.0` }, result);
        turn += 1;
        guards.beforeStep(turn);
        const { stop } = guards.state();
        told.push(...notes, ...(stop && stop !== stopped ? [`stop: ${stop.reason}`] : []));
      }
      return told;
    },
  };
}
