import { posix } from 'node:path';
import { isJsonObject } from '@hermes-fleet/protocol';
import type { GuardedCall } from '../../run/guards.ts';
import { commandWords } from '../commands/command-words.ts';
import { shellCommands } from '../commands/shell-line.ts';

/** Programs that show a file, or a part of it that a number names. */
const SHOW: ReadonlySet<string> = new Set('cat head tail less more nl bat'.split(' '));
/** Programs whose first operand is a script. */
const SCRIPTED: ReadonlySet<string> = new Set(['sed', 'awk', 'gawk']);

/**
 * The targets of a call: the texts of its input; of a command line, the files and names that it gives, without options and
 * without what selects lines of a file. Two calls that show the same of one target repeat each other.
 */
export function targetsOf({ tool, input }: Pick<GuardedCall, 'tool' | 'input'>): string[] {
  const isCommand = tool === 'shell_exec' && isJsonObject(input) && typeof input.command === 'string';
  const found = isCommand ? givenIn(String(input.command)) : textsOf(input);
  return [...new Set(found.map((name) => posix.normalize(name)))].sort();
}

function givenIn(line: string): string[] {
  return shellCommands(line).flatMap(({ words, inputs }) => {
    const command = commandWords(words);
    if (command === undefined) return [...words, ...inputs];
    const { program, args } = command;
    const before = words.filter((word) => /^[A-Za-z_]\w*=/.test(word) && !args.includes(word));
    const named = args.flatMap((arg) =>
      arg.startsWith('-') ? arg.slice(arg.indexOf('=') + 1 || arg.length) || [] : arg,
    );
    const about = SHOW.has(program) ? named.filter((arg) => !/^\d+$/.test(arg)) : named;
    return [...before, ...(SCRIPTED.has(program) ? about.slice(1) : about), ...inputs];
  });
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isJsonObject(value) ? Object.values(value).flatMap(textsOf) : [];
}
