import { basename } from 'node:path';
import { definedFields, type JsonValue } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { type CommandLimits, type CommandResult, limitMet, runCommand } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import {
  COMMAND_UNSUPPORTED,
  CWD_SYNONYMS,
  commandIn,
  commandShape,
  notNow,
  refusedBy,
  type ShellOptions,
  shellLine,
  withFolderInCommand,
} from './shell/command-line.ts';

/** Bytes kept per stream, enough for most outputs; fewer when many commands run at the same time. */
const KEEP_BYTES = 4 * 1024 * 1024;
const LEAST_BYTES = 64 * 1024;
const KEEP_ALL_BYTES = 64 * 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_TIMEOUT_S = 3600;

interface ShellExecOptions extends ShellOptions {
  readonly timeoutS: number;
  /** The limits that the result of a command names. */
  readonly limits: CommandLimits;
  readonly clock: Clock;
}

const IN_BACKGROUND = {
  same: ['false'],
  instead: 'shell_start, where it is offered, starts a command that runs on',
};
const TIMEOUT = { same: [''], instead: 'give timeout_s, in seconds' };

/** `shell_exec` runs a confined command; its processes are killed on timeout, on abort and after its exit. */
export function shellExecTool(options: ShellExecOptions): AgentTool {
  let kept = 0;
  const tool = defineFileTool({
    name: 'shell_exec',
    description: [
      `Run a command with ${basename(options.shell)} in the workspace. Nothing may be left running.`,
      ...(options.network === undefined ? [] : [options.network.description]),
    ].join(' '),
    mutates: true,
    inputSchema: z.strictObject({
      ...commandShape,
      timeout_s: z.int().min(1).max(MAX_TIMEOUT_S).optional().describe(`default ${options.timeoutS}`),
    }),
    synonyms: CWD_SYNONYMS,
    unsupported: {
      ...COMMAND_UNSUPPORTED,
      timeout: TIMEOUT,
      timeout_ms: TIMEOUT,
      run_in_background: IN_BACKGROUND,
      is_background: IN_BACKGROUND,
      background: IN_BACKGROUND,
    },
    async run(input, call) {
      const { workspace, signal } = call;
      const command = commandIn(input.command, input.cwd);

      const timeoutS = input.timeout_s ?? options.timeoutS;
      const { line, env, proxied } = shellLine(options, call, command);
      const keepBytes = Math.max(LEAST_BYTES, Math.min(KEEP_BYTES, Math.floor((KEEP_ALL_BYTES - kept) / 2)));
      const limits = { timeoutMs: timeoutS * 1000, keepBytes, maxBytes: MAX_BYTES };
      const place = { cwd: workspace.dir, env };
      kept += 2 * keepBytes;
      try {
        const result = await runCommand(line, { ...place, ...limits, signal, clock: options.clock });
        return {
          ok: result.exitCode === 0 && result.killed === undefined,
          output: { ...outputOf(result, timeoutS, options.limits), ...refusedBy(proxied) },
          detail: command,
          exitCode: result.killed === undefined ? result.exitCode : null,
        };
      } catch (error) {
        throw notNow(error, 'run');
      } finally {
        kept -= 2 * keepBytes;
      }
    },
  });
  return withFolderInCommand(tool);
}

function outputOf(result: CommandResult, timeoutS: number, limits: CommandLimits) {
  const { exitCode, stdout, stderr, killed } = result;
  const met = killed === undefined ? limitMet(result, limits) : undefined;
  return definedFields<JsonValue>({
    exit_code: killed === undefined ? exitCode : null,
    killed: killed && reasonOf(killed, result, timeoutS),
    limit: met,
    stdout: stdout || undefined,
    stderr: stderr || undefined,
  });
}

function reasonOf(killed: string, { limit }: CommandResult, timeoutS: number): string {
  if (killed === 'timeout') return `killed after ${timeoutS} s`;
  return killed === 'output' ? 'killed: it printed too much' : `killed: ${limit}`;
}
