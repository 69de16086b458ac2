import { checkKind } from './checks.ts';
import { type CommandWords, commandWords, operands } from './command-words.ts';
import { effectsOf } from './effects.ts';
import { shellCommands } from './shell-line.ts';

/** Programs that only show something, or answer a question by their exit code. */
const LOOKS: ReadonlySet<string> = new Set(
  (
    'ls cat head tail less more grep egrep fgrep rg ag ack find fd wc pwd echo printf stat file tree du df ps env which ' +
    'type date whoami jq yq test [ [[ diff cmp comm sort uniq cut awk sed nl tac xxd od hexdump cd true false : sleep ' +
    'hostname id uname realpath readlink basename dirname column tr bat pgrep command'
  ).split(' '),
);
const GIT_LOOKS: ReadonlySet<string> = new Set(
  'status diff log show branch blame ls-files rev-parse remote describe grep'.split(' '),
);

export const isLook = ({ program, args }: CommandWords): boolean =>
  program === 'git' ? GIT_LOOKS.has(operands(args)[0] ?? '') : LOOKS.has(program);

/** True if a command line only looks at things: it writes nothing, and runs nothing that could. */
export function onlyLooks(line: string): boolean {
  const commands = shellCommands(line).flatMap(({ words }) => commandWords(words) ?? []);
  return (
    commands.length > 0 && commands.every(isLook) && effectsOf(line).every(({ kind }) => kind === 'check')
  );
}

const SEARCHES: ReadonlySet<string> = new Set(['grep', 'egrep', 'fgrep', 'rg', 'ag', 'ack']);

/** True if a command line searches the output of a check, and its exit code is that of the search: `npm test | grep FAIL`. */
export function searchesOutput(line: string): boolean {
  const all = shellCommands(line).flatMap(({ words, shown }) => {
    const command = commandWords(words);
    return command === undefined ? [] : [{ command, shown }];
  });
  const answers = all.filter(({ shown }) => shown);
  const checks = (command: CommandWords) => ['tests', 'check'].includes(checkKind(command) ?? '');
  return (
    answers.length > 0 &&
    answers.every(({ command }) => SEARCHES.has(command.program) || command.program === 'cd') &&
    all.every(({ command }) => isLook(command) || checks(command)) &&
    effectsOf(line).every(({ kind }) => kind === 'check')
  );
}
