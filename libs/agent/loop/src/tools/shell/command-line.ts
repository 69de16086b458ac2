import { FleetError } from '@hermes-fleet/protocol';
import { ToolError, taskFields } from '@hermes-fleet/protocol/ports';
import { COMMAND_ENV, gitIdentity, type ProxiedCommand, throughProxy } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AllowedNetwork } from '../../network/allowed-network.ts';
import type { AgentTool, ToolContext } from '../../run/conversation.ts';
import type { Unsupported } from '../../run/tool.ts';

export interface ShellOptions {
  readonly profile: string;
  readonly shell: string;
  /** `tools.shell.env`. */
  readonly env: Readonly<Record<string, string>>;
  /** Where `tools.shell.network` names hosts. */
  readonly network?: AllowedNetwork | undefined;
}

/** The working tree may belong to a user other than the command's. */
const TRUST_WORKSPACE = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};
const IN_HOME = '[ -d "$HOME" ] || mkdir -p "$HOME"; exec "$@"';

/** The confined command line that runs a command in the shell, and its environment. */
export function shellLine(
  { profile, shell, env, network }: ShellOptions,
  { workspace, task }: Pick<ToolContext, 'workspace' | 'task'>,
  command: string,
) {
  const proxied = network?.openProxy(taskFields(task));
  // Set within the confinement: the programs that confine a command do not get them.
  const configured = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const inner = [...(configured.length > 0 ? ['env', ...configured] : []), shell, '-c', command];
  return {
    line: throughProxy(workspace.wrap, proxied)('/bin/sh', ['-c', IN_HOME, 'sh', ...inner]),
    env: { ...COMMAND_ENV, ...gitIdentity(profile), ...TRUST_WORKSPACE, ...workspace.env },
    proxied,
  };
}

/** A failure of a command for want of room, for the model; any other error as it is. */
export const notNow = (error: unknown, what: 'run' | 'start'): unknown =>
  error instanceof FleetError && error.code === 'CAPACITY'
    ? new ToolError(`the command did not ${what}: ${error.message}; try again later`)
    : error;

/** The field of a result that names what the network refused. */
export const refusedBy = (proxied: ProxiedCommand | undefined): { network_refused?: string[] } => {
  const refused = proxied?.refused() ?? [];
  return refused.length === 0 ? {} : { network_refused: [...refused] };
};

export const commandShape = {
  command: z.string().min(1),
  cwd: z.string().min(1).optional(),
};

export const CWD_SYNONYMS: Readonly<Record<string, string>> = Object.fromEntries(
  ['workdir', 'work_dir', 'working_directory', 'working_dir', 'directory', 'dir', 'folder'].map((name) => [
    name,
    'cwd',
  ]),
);

/** Parameters without which a command would do something else. */
export const COMMAND_UNSUPPORTED: Unsupported = {
  env: { same: ['{}', ''], instead: 'set variables in the command' },
  stdin: { same: [''], instead: 'give the input in the command, e.g. as a here-document' },
  input: { same: [''], instead: 'give the input in the command, e.g. as a here-document' },
};

/**
 * The command in its folder, which it enters itself: the confinement decides where it may go, as for any command. Throws
 * ToolError for a null byte.
 */
export function commandIn(command: string, cwd: string | undefined): string {
  if (`${command}${cwd}`.includes('\0')) throw new ToolError('a command must not contain a null byte');
  return cwd === undefined || cwd === '.'
    ? command
    : `cd ${quoted(cwd.startsWith('-') ? `./${cwd}` : cwd)} || exit\n${command}`;
}

/**
 * The tool, with `cwd` as a part of the command in the input that guards and evidence see, and a list of words, as other
 * agents' tools take it, as a line of the shell.
 */
export function withFolderInCommand(tool: AgentTool): AgentTool {
  return {
    ...tool,
    readInput(given) {
      const listed = Listed.safeParse(given).data;
      const raw = listed ?? given;
      const understood = tool.readInput?.(raw) ?? { input: raw, notes: [] };
      const read = listed ? { ...understood, notes: [...understood.notes, LISTED] } : understood;
      const placed = Placed.safeParse(read.input);
      if (read.problem !== undefined || !placed.success) return read;
      const { command, cwd, ...others } = placed.data;
      return { ...read, input: { ...others, command: commandIn(command, cwd) } };
    },
  };
}

const LISTED = 'the list of words is read as a command line';
const Words = z.array(z.string()).min(1).transform(lineOf);
const Listed = z.union([z.looseObject({ command: Words }), z.looseObject({ cmd: Words })]);
const Placed = z.looseObject({ ...commandShape, cwd: z.string().min(1) });

/** The script of `bash -lc <script>`, or a command by its words. */
function lineOf(words: readonly string[]): string {
  const [shell = '', option = '', script, ...rest] = words;
  const isScript = /^(?:\S*\/)?(?:ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(option) && rest.length === 0;
  return isScript && script !== undefined ? script : words.map(word).join(' ');
}

const word = (text: string): string => (/^[\w./:=@%+,-]+$/.test(text) ? text : quoted(text));

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
