import { command, type Usage } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import { optionsOf } from '../command-line/parse.ts';
import { completionUsage } from '../command-specs/processes.ts';

const SHELLS = ['bash', 'zsh'];

/** `fleet completion bash|zsh`: prints a script that completes the words and options of these commands. */
export const completionCommand = (usages: readonly Usage[]) =>
  command(completionUsage, ({ positionals, stdout }) => {
    const [shell = '', ...more] = positionals;
    if (!SHELLS.includes(shell) || more.length > 0) throw new UsageError('completion takes bash or zsh');
    stdout.write(completionScript(shell, usages));
  });

/** The words that may follow each command or group. */
function continuations(usages: readonly Usage[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>([['', new Set(['--help', '--version'])]]);
  for (const each of usages) {
    const words = each.name.split(' ');
    words.forEach((word, at) => {
      const before = words.slice(0, at).join(' ');
      found.set(before, (found.get(before) ?? new Set(['--help'])).add(word));
    });
    const options = [...Object.keys(optionsOf(each)), 'help'].map((name) => `--${name}`);
    found.set(each.name, new Set([...(found.get(each.name) ?? []), ...options]));
  }
  return found;
}

/** zsh runs the functions of bash after `bashcompinit` (zsh manual, Completion System). */
function completionScript(shell: string, usages: readonly Usage[]): string {
  const known = [...continuations(usages)];
  const names = known.flatMap(([name]) => (name === '' ? [] : [`'${name}'`]));
  return `${shell === 'zsh' ? 'autoload -U +X compinit bashcompinit && compinit && bashcompinit\n' : ''}_fleet() {
  local named='' next at words=''
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${named:+$named }\${COMP_WORDS[at]}"
    case "$next" in
      ${names.join(' | ')}) named=$next ;;
      *) break ;;
    esac
  done
  case "$named" in
${known.map(([name, words]) => `    '${name}') words='${[...words].join(' ')}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fleet fleet ./fleet
`;
}
