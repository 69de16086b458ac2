import type { JsonObject } from '@hermes-fleet/protocol';
import { type Clock, ToolError, type ToolResult } from '@hermes-fleet/protocol/ports';
import { type BackgroundProcess, type ProxiedCommand, startBackground } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { ToolContext } from '../../run/conversation.ts';
import { defineFileTool } from '../../run/tool.ts';
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
} from './command-line.ts';

/** Processes of one context that run at a time, and those whose output is kept. */
const MAX_RUNNING = 4;
const MAX_KEPT = 16;
const KEEP_BYTES = 256 * 1024;
/** A process that prints more is killed. */
const MAX_BYTES = 64 * 1024 * 1024;
const SHOWN_BYTES = 16 * 1024;
const MAX_WAIT_S = 60;
const START_WAIT_S = 1;
/** Longest wait for a killed process to be gone; one in an uninterruptible call of the kernel stays. */
const STOP_WAIT_S = 10;
const HOUR_MS = 3_600_000;
/** Bytes of the longest character in UTF-8 that can be incomplete. */
const MAX_PARTIAL = 3;

interface Started {
  readonly process: BackgroundProcess;
  readonly command: string;
  readonly proxied: ProxiedCommand | undefined;
  /** Bytes of the output that the model has seen, or that were left out. */
  read: number;
  /** All bytes of the output at the last look. */
  looked: number;
  isTooLong: boolean;
}

interface Processes {
  readonly started: Map<string, Started>;
  /** Those that are being started, by their ids. They count as running. */
  readonly starting: Map<string, Promise<unknown>>;
}

/** Processes that run on beside the agent's steps (docs/agent.md#background-processes), confined and limited as commands. */
export function createBackground(options: ShellOptions & { readonly clock: Clock }) {
  const contexts = new Map<string, Processes>();
  const { clock } = options;
  const id = z.string().min(1).max(200);
  const wait_s = z.int().min(0).max(MAX_WAIT_S).optional();

  function processesOf(contextId: string): Processes {
    const known = contexts.get(contextId) ?? { started: new Map(), starting: new Map() };
    contexts.set(contextId, known);
    return known;
  }

  function processOf(call: ToolContext, name: string): Started {
    const { started } = processesOf(call.task.contextId);
    const found = started.get(name);
    if (found !== undefined) return found;
    const running = [...started].flatMap(([other, { process }]) =>
      process.end() === undefined ? other : [],
    );
    throw new ToolError(
      `there is no process ${name.slice(0, 50)}: processes end with their task, and with a restart of the gateway; start it again if you need it. Running: ${running.join(', ') || 'none'}`,
    );
  }

  function makeRoom({ started, starting }: Processes): void {
    const running = [...started.values()].filter(({ process }) => process.end() === undefined);
    const begun = [...starting.keys()].filter((name) => !started.has(name));
    if (running.length + begun.length >= MAX_RUNNING)
      throw new ToolError(
        `${MAX_RUNNING} processes run already, the most at a time: stop one with shell_stop`,
      );
    for (const [name, { process }] of started)
      if (started.size >= MAX_KEPT && process.end() !== undefined) started.delete(name);
  }

  async function begin(all: Processes, name: string, command: string, call: ToolContext): Promise<Started> {
    const { line, env, proxied } = shellLine(options, call, command);
    const place = { cwd: call.workspace.dir, env, keepBytes: KEEP_BYTES, clock };
    const process = await startBackground(line, place).catch((error: unknown) => {
      throw notNow(error, 'start');
    });
    const started = { process, command, proxied, read: 0, looked: 0, isTooLong: false };
    all.started.set(name, started);
    void limitOutput(started);
    return started;
  }

  /** Kills a process with everything that it started, and waits until it is gone, for at most STOP_WAIT_S. */
  async function ended({ process }: Started): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    using _timer = clock.timer(resolve, STOP_WAIT_S * 1000);
    await Promise.race([process.stop(), late]);
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
      const all = processesOf(call.task.contextId);
      makeRoom(all);
      const name = `p${call.key.replaceAll('/', '-')}`;
      const starting = begin(all, name, command, call);
      all.starting.set(name, starting);
      try {
        const started = await starting;
        await started.process.change(START_WAIT_S * 1000, untilStop(call));
        return shown(name, started);
      } finally {
        all.starting.delete(name);
      }
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
      const started = processOf(call, name);
      if (seconds > 0 && started.process.output.totalBytes === started.looked)
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
      const started = processOf(call, name);
      await ended(started);
      if (started.process.end() === undefined)
        throw new ToolError(
          `the process was killed, and is not gone after ${STOP_WAIT_S} s; look later with shell_output`,
        );
      return shown(name, started);
    },
  });

  return {
    tools: [withFolderInCommand(start), output, stop],
    /** Ends all processes of a context, also those that are being started; resolves when they are gone, or after 10 s. */
    async release(contextId: string): Promise<void> {
      const all = contexts.get(contextId);
      contexts.delete(contextId);
      // A start that fails has no process.
      await Promise.allSettled(all?.starting.values() ?? []);
      await Promise.all([...(all?.started.values() ?? [])].map(ended));
    },
  };
}

/** A wait ends when the run ends or the profile stops. */
const untilStop = ({ signal, stopping }: ToolContext): AbortSignal => AbortSignal.any([signal, stopping]);

/** Kills a process that prints without end. Resolves when the process has ended. */
async function limitOutput(started: Started): Promise<void> {
  const { process } = started;
  const never = new AbortController().signal;
  while (process.end() === undefined) {
    if (process.output.totalBytes > MAX_BYTES) {
      started.isTooLong = true;
      return process.stop();
    }
    await process.change(HOUR_MS, never);
  }
}

function shown(id: string, started: Started): ToolResult {
  const { process, command } = started;
  const end = process.end();
  const { totalBytes } = process.output;
  // The rest of a character may still come.
  const complete = totalBytes - (end === undefined ? partialBytes(process.output) : 0);
  const from = Math.max(started.read, totalBytes - SHOWN_BYTES);
  const { text, lostBytes } = process.output.since(from);
  const leftOut = from - started.read + lostBytes;
  started.read = Math.max(from, complete);
  started.looked = totalBytes;
  const killed = started.isTooLong ? `it printed more than ${MAX_BYTES} bytes` : end?.limit;
  const output: JsonObject = {
    id,
    state: end === undefined ? 'running' : 'ended',
    ...(end !== undefined && { exited_with: end.exitCode }),
    ...(killed !== undefined && { killed }),
    ...(leftOut > 0 && { left_out: `${leftOut} bytes before; have the command write long output to a file` }),
    ...refusedBy(started.proxied),
    output: complete < totalBytes && started.read === complete ? text.slice(0, -1) : text,
  };
  return { ok: true, output, detail: command };
}

/** The bytes at the end that may be the beginning of a character: decoded, they are one replacement character. */
function partialBytes(output: BackgroundProcess['output']): number {
  for (let bytes = Math.min(MAX_PARTIAL, output.totalBytes); bytes > 0; bytes -= 1)
    if (output.since(output.totalBytes - bytes).text === '\uFFFD') return bytes;
  return 0;
}
