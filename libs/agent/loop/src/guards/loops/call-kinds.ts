import { posix } from 'node:path';
import { isJsonObject } from '@hermes-fleet/protocol';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { GuardedCall } from '../../run/guards.ts';
import { type CommandWords, commandWords } from '../commands/command-words.ts';
import { effectsOf } from '../commands/effects.ts';
import { isLook } from '../commands/looks.ts';
import { shellCommands } from '../commands/shell-line.ts';

const Target = z.object({
  path: z.string().optional(),
  command: z.string().optional(),
  id: z.string().optional(),
});
/** Tools that ask how far something is that runs elsewhere. */
const POLLS: ReadonlySet<string> = new Set(['shell_output', 'a2a_get_task']);
const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const WAITS = words('wait inotifywait wait-on wait-for-it wait-for-it.sh');
/** Programs that ask another machine or a service, whose answer changes without the run. */
const REMOTE = words(
  'curl wget http aria2c nc ncat telnet dig nslookup host ping ssh scp gh glab kubectl docker podman systemctl ' +
    'journalctl pg_isready redis-cli aws gcloud az openssl',
);

/** More than run at a time. */
const MAX_RUNNING = 16;

/** How often a call may come to the same before that is a repetition. */
const FREE = { wait: 30, unknown: 30, remote: 12, check: 2, look: 0 } as const;

const targetOf = ({ input }: GuardedCall): z.output<typeof Target> => Target.safeParse(input).data ?? {};

function commandsOf(call: GuardedCall): CommandWords[] {
  const { command } = targetOf(call);
  if (call.tool !== 'shell_exec' || command === undefined) return [];
  return shellCommands(command).flatMap(({ words: all }) => commandWords(all) ?? []);
}

/** The kind of a call, which decides how often it may come to the same. */
export interface CallKind {
  /** Lets time pass: the next look may legitimately find something new, or nothing yet. */
  readonly waits: boolean;
  /** Tests, builds or checks something: its output differs in times alone. */
  readonly checks: boolean;
  /** How often it may come to the same before that is a repetition. */
  readonly free: number;
}

/** `passed`: it is a check that passed. `hasProcesses`: processes run in the background, whose work a look may show. */
export function kindOf(
  call: GuardedCall,
  result: ToolResult,
  passed: boolean,
  hasProcesses = false,
): CallKind {
  const { command = '' } = targetOf(call);
  const isShell = call.tool === 'shell_exec';
  const commands = commandsOf(call);
  const effects = isShell ? effectsOf(command) : [];
  const checks = effects.some((one) => one.kind === 'check' && (one.how === 'tests' || one.how === 'check'));
  const waits = isShell ? commands.some(isWait) : POLLS.has(call.tool) && !hasEnded(result);
  const isLocalLook = isShell
    ? commands.length > 0 && commands.every(isLook)
    : !call.mutates && !POLLS.has(call.tool);
  const isRemote = commands.some(({ program }) => REMOTE.has(program)) || (hasProcesses && isLocalLook);
  const isKnown = checks || effects.some(({ kind }) => kind !== 'check') || commands.every(isLook);
  if (waits) return { waits, checks, free: FREE.wait };
  if (isRemote) return { waits, checks, free: FREE.remote };
  if (passed) return { waits, checks, free: FREE.check };
  return { waits, checks, free: isShell && result.ok && !isKnown ? FREE.unknown : FREE.look };
}

const isWait = ({ program, args }: CommandWords): boolean =>
  program === 'sleep' ? Number.parseFloat(args[0] ?? '') >= 1 : WAITS.has(program);

/** True if the process that a poll asks for has ended. */
const hasEnded = ({ output }: ToolResult): boolean => isJsonObject(output) && output.state === 'ended';

const Process = z.object({ id: z.string(), state: z.enum(['running', 'ended']) });

/** The processes of `running` after a call that started, showed or stopped one. One that is asked for in vain is gone. */
export function runningAfter(running: readonly string[], call: GuardedCall, result: ToolResult): string[] {
  if (!/^shell_(?:start|output|stop)$/.test(call.tool)) return [...running];
  const { id, state } = Process.safeParse(result.output).data ?? { id: undefined, state: 'ended' };
  const asked = Target.safeParse(call.input).data?.id;
  const others = running.filter((one) => one !== id && one !== asked);
  return (state === 'running' && id !== undefined ? [...others, id] : others).slice(-MAX_RUNNING);
}

/** The files that a call names. */
export function namedFiles(call: GuardedCall): string[] {
  const { path, command } = targetOf(call);
  const names = path === undefined ? [] : [path];
  if (call.tool === 'shell_exec' && command !== undefined)
    names.push(...shellCommands(command).flatMap(({ words: all, inputs }) => [...all, ...inputs]));
  return names.filter((name) => name.length < 1000).map((name) => posix.normalize(name));
}
