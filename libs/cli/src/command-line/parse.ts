import { Option, type Command as ParserNode } from 'commander';
import type { Invocation, OptionSpec, OptionSpecs, Output, Usage } from './command.ts';
import { UsageError } from './option-values.ts';

const OUTPUT_OPTIONS = {
  json: { type: 'boolean', help: 'print JSON, as -o json' },
  output: { type: 'string', short: 'o', value: 'format', help: 'text, json or yaml; text by default' },
} as const satisfies OptionSpecs;

/** The options of a command with those for the format of its output. */
export const optionsOf = ({ options, textOnly }: Usage): OptionSpecs =>
  textOnly ? options : { ...options, ...OUTPUT_OPTIONS };

/** Adds options, arguments and help of a command to its node in the parser; `run` gets the parsed call. */
export function attach(
  node: ParserNode,
  usage: Usage,
  run: (parse: () => Pick<Invocation<OptionSpecs>, 'values' | 'positionals' | 'output'>) => Promise<void>,
): void {
  const options = Object.entries(optionsOf(usage)).map(([name, spec]) => ({
    name,
    option: optionOf(name, spec),
  }));
  for (const { option } of options) node.addOption(option);
  // The commands check their arguments themselves, with messages of their own.
  node.argument('[words...]').usage(`${usage.args === undefined ? '' : `${usage.args} `}[options]`);
  if (usage.examples.length > 0)
    node.addHelpText('after', ['\nExamples:', ...usage.examples.map((line) => `  fleet ${line}`)].join('\n'));
  node.action((words: string[]) =>
    run(() => {
      const parsed: Record<string, unknown> = node.opts();
      const given = options.flatMap(({ name, option }) => {
        // The parser reads `--no-x` as x, which is true where it is not given.
        if (node.getOptionValueSource(option.attributeName()) !== 'cli') return [];
        const value = option.negate || parsed[option.attributeName()];
        // A variable of a script that is not set must not act as if the option were absent.
        if (value === '') throw new UsageError(`--${name} must not be empty`);
        return [[name, value] as const];
      });
      if (usage.args === undefined && words.length > 0)
        throw new UsageError(`${usage.name} takes no "${words.join(' ')}"`);
      // The parser makes what the options of the command say.
      const values = Object.fromEntries(given) as Invocation<OptionSpecs>['values'];
      return { values, positionals: words, output: outputOf(parsed) };
    }),
  );
}

function optionOf(name: string, { type, multiple, short, value, help }: OptionSpec): Option {
  const flag = `${short === undefined ? '' : `-${short}, `}--${name}`;
  if (type === 'boolean') return new Option(flag, help);
  const option = new Option(`${flag} <${value ?? 'text'}>`, help);
  if (multiple) option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), text]);
  return option;
}

function outputOf({ json, output }: Readonly<Record<string, unknown>>): Output {
  if (output === undefined) return json === true ? 'json' : 'text';
  if (output === 'json' || output === 'yaml') return output;
  if (output === 'text' && json !== true) return output;
  const found = output === 'text' ? 'and --json contradicts it' : `not "${String(output)}"`;
  throw new UsageError(`--output must be text, json or yaml, ${found}`);
}

/** The format that a command line asks for, also where the rest of it is invalid. */
export function outputIn(argv: readonly string[]): Output {
  const format = argv.flatMap((word, at) => {
    if (word === '--json') return ['json'];
    if (word === '-o' || word === '--output') return [argv[at + 1] ?? ''];
    const joined = /^(?:--output=|-o)(json|yaml)$/.exec(word);
    return joined?.[1] ? [joined[1]] : [];
  });
  return format.includes('yaml') ? 'yaml' : format.includes('json') ? 'json' : 'text';
}
