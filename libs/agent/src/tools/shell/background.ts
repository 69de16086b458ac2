import { type Clock, FleetError, type JsonObject, ToolError, type ToolResult } from '@hermes-fleet/protocol';
import { type BackgroundProcess, startBackground } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool, ToolContext } from '../../run/conversation.ts';
import { defineFileTool } from '../../run/tool.ts';
import {
  COMMAND_UNSUPPORTED,
  CWD_SYNONYMS,
  commandIn,
  commandShape,
  type ShellOptions,
  shellLine,
  withFolderInCommand,
} from './command-line.ts';

export interface Background {
  /** `shell_start`, `shell_output` and `shell_stop`. */
  readonly tools: readonly AgentTool[];
  /** Ends all processes of a context; resolves when they are gone. */
  release(contextId: string): Promise<void>;
}

/** Processes of one context that run at a time, and those whose output is kept. */
const MAX_RUNNING = 4;
const MAX_KEPT = 16;
const KEEP_BYTES = 256 * 1024;
/** Bytes shown by one call. */
const SHOWN_BYTES = 16 * 1024;
const MAX_WAIT_S = 60;
const START_WAIT_S = 1;

interface Started {
  readonly process: BackgroundProcess;
  readonly command: string;
  /** Bytes of the output that the model has seen, or that were left out. */
  read: number;
}

/**
 * The tools for processes that run on while the agent works (docs/agent.md#background-processes). They are confined and
 * limited as commands are, end with the task, and do not survive a restart.
 */
export function createBackground(options: ShellOptions & { readonly clock: Clock }): Background {
  const contexts = new Map<string, Map<string, Started>>();
  const { clock } = options;
  const id = z.string().min(1).max(200);
  const wait_s = z.int().min(0).max(MAX_WAIT_S).optional();

  function startedIn(contextId: string): Map<string, Started> {
    const known = contexts.get(contextId) ?? new Map<string, Started>();
    contexts.set(contextId, known);
    return known;
  }

  function find(call: ToolContext, name: string): Started {
    const all = startedIn(call.task.contextId);
    const found = all.get(name);
    if (found !== undefined) return found;
    const running = [...all].flatMap(([other, { process }]) => (process.end() === undefined ? other : []));
    throw new ToolError(
      `there is no process ${name.slice(0, 50)}: processes end with their task, and with a restart of the gateway; start it again if you need it. Running: ${running.join(', ') || 'none'}`,
    );
  }

  function makeRoom(all: Map<string, Started>): void {
    const running = [...all.values()].filter(({ process }) => process.end() === undefined);
    if (running.length >= MAX_RUNNING)
      throw new ToolError(
        `${MAX_RUNNING} processes run already, the most at a time: stop one with shell_stop`,
      );
    for (const [name, { process }] of all)
      if (all.size >= MAX_KEPT && process.end() !== undefined) all.delete(name);
  }

  const start = defineFileTool({
    name: 'shell_start',
    description: `Start a command that runs on in the background, e.g. a server; at most ${MAX_RUNNING}. It ends with the task. Keep it in the foreground of its shell.`,
    mutates: true,
    inputSchema: z.strictObject(commandShape),
    synonyms: CWD_SYNONYMS,
    unsupported: COMMAND_UNSUPPORTED,
    async run(input, call) {
      const command = commandIn(input.command, input.cwd);
      if (command.includes('\0')) throw new ToolError('a command must not contain a null byte');
      const all = startedIn(call.task.contextId);
      makeRoom(all);
      const { line, env } = shellLine(options, call.workspace, command);
      const place = { cwd: call.workspace.dir, env, keepBytes: KEEP_BYTES, clock };
      const process = await startBackground(line, place).catch((error: unknown) => {
        if (!(error instanceof FleetError) || error.code !== 'CAPACITY') throw error;
        throw new ToolError(`the command did not start: ${error.message}; try again later`);
      });
      const name = `p${call.key.replaceAll('/', '-')}`;
      const started = { process, command, read: 0 };
      all.set(name, started);
      await process.change(START_WAIT_S * 1000, untilStop(call));
      return shown(name, started);
    },
  });

  const output = defineFileTool({
    name: 'shell_output',
    description: 'What a background process has printed since the last look, and whether it runs.',
    mutates: false,
    // Two looks at one process must not share what is new.
    isConcurrent: false,
    inputSchema: z.strictObject({ id, wait_s: wait_s.describe('wait so long for more output or its end') }),
    async run({ id: name, wait_s: seconds = 0 }, call) {
      const started = find(call, name);
      if (seconds > 0 && started.process.output.totalBytes === started.read)
        await started.process.change(seconds * 1000, untilStop(call));
      call.signal.throwIfAborted();
      return shown(name, started);
    },
  });

  const stop = defineFileTool({
    name: 'shell_stop',
    description: 'End a background process with everything that it started.',
    mutates: true,
    repeatable: true,
    inputSchema: z.strictObject({ id }),
    async run({ id: name }, call) {
      const started = find(call, name);
      await started.process.stop();
      return shown(name, started);
    },
  });

  return {
    tools: [withFolderInCommand(start), output, stop],
    async release(contextId) {
      const all = contexts.get(contextId);
      contexts.delete(contextId);
      await Promise.all([...(all?.values() ?? [])].map(({ process }) => process.stop()));
    },
  };
}

/** A wait ends when the run ends or the profile stops. */
const untilStop = ({ signal, stopping }: ToolContext): AbortSignal => AbortSignal.any([signal, stopping]);

function shown(id: string, started: Started): ToolResult {
  const { process, command } = started;
  const { totalBytes } = process.output;
  const from = Math.max(started.read, totalBytes - SHOWN_BYTES);
  const { text, lostBytes } = process.output.since(from);
  const leftOut = from - started.read + lostBytes;
  started.read = totalBytes;
  const end = process.end();
  const output: JsonObject = {
    id,
    state: end === undefined ? 'running' : 'ended',
    ...(end !== undefined && { exited_with: end.exitCode }),
    ...(end?.limit !== undefined && { killed: end.limit }),
    ...(leftOut > 0 && { left_out: `${leftOut} bytes before; have the command write long output to a file` }),
    output: text,
  };
  return { ok: true, output, detail: command };
}
