import { type CommanderError, Option, type Command as ParserNode } from 'commander';
import type { Command, Invocation, OptionSpec, OptionSpecs, Output, Streams } from './command.ts';
import { UsageError } from './options.ts';
import { safeJson, safeYaml } from './output.ts';

const OUTPUT_OPTIONS = {
  json: { type: 'boolean', help: 'print JSON, as -o json' },
  output: { type: 'string', short: 'o', value: 'format', help: 'text, json or yaml; text by default' },
} as const satisfies OptionSpecs;

/** The options of a command with those for the format of its output. */
export const optionsOf = ({ options, textOnly }: Command): OptionSpecs =>
  textOnly ? options : { ...options, ...OUTPUT_OPTIONS };

/** Adds options, arguments and help of a command to its node in the parser; `run` gets the parsed call. */
export function attach(
  node: ParserNode,
  command: Command,
  env: NodeJS.ProcessEnv,
  streams: Streams,
  run: (work: () => Promise<number>) => Promise<void>,
): void {
  const options = Object.entries(optionsOf(command)).map(([name, spec]) => ({
    name,
    option: optionOf(name, spec),
  }));
  for (const { option } of options) node.addOption(option);
  // The commands check their arguments themselves, with messages of their own.
  node.argument('[words...]').usage(`${command.args === undefined ? '' : `${command.args} `}[options]`);
  if (command.examples.length > 0)
    node.addHelpText(
      'after',
      ['\nExamples:', ...command.examples.map((line) => `  fleet ${line}`)].join('\n'),
    );
  node.action((words: string[]) =>
    run(async () => {
      const parsed: Record<string, unknown> = node.opts();
      const given = options.flatMap(({ name, option }) => {
        const value = parsed[option.attributeName()];
        // A variable of a script that is not set must not act as if the option were absent.
        if (value === '') throw new UsageError(`--${name} must not be empty`);
        return value === undefined ? [] : [[name, value] as const];
      });
      // The parser makes what the options of the command say.
      const values = Object.fromEntries(given) as Invocation<OptionSpecs>['values'];
      const output = outputOf(parsed);
      const { stdin, stdout, stderr } = streams;
      const print = printerOf(output, stdout);
      return command.run({ values, positionals: words, env, stdin, stdout, stderr, output, print });
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

function printerOf(output: Output, stdout: Streams['stdout']): Invocation<OptionSpecs>['print'] {
  return output === 'text' ? undefined : (value) => stdout.write(serialize(value, output));
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

/** A value as one document: JSON on one line, or YAML. Text in it cannot control the terminal (docs/cli.md#output). */
export function serialize(value: unknown, output: Output): string {
  return output === 'yaml' ? `---\n${safeYaml(value)}` : `${safeJson(JSON.stringify(value))}\n`;
}

/** The UsageError for a command line that the parser refuses; undefined when it has printed help or the version. */
export function refusedLine(error: CommanderError): UsageError | undefined {
  if (error.exitCode === 0) return undefined;
  return new UsageError(error.message.replace(/^error: /, '').replaceAll('\n', ' '));
}
