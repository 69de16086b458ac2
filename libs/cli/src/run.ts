import { version } from '@hermes-fleet/installation';
import { CommanderError, Command as ParserNode } from 'commander';
import type { Invocation, OptionSpecs, Streams, Usage } from './command-line/command.ts';
import { agentOptions, UsageError } from './command-line/option-values.ts';
import { printLines } from './command-line/output.ts';
import { attach, outputIn } from './command-line/parse.ts';
import { GROUPS, loadCommand, USAGES } from './commands.ts';

const ABOUT = `Exit codes: 0 done; 1 error; 2 usage; 3 blocked: no peer can take the dispatch, the task waits for an
answer, or the trader rejected the decision; 4 partial: the task ended before its work was complete.`;

/** The `fleet` command: runs one subcommand with these streams and resolves with the exit code (docs/cli.md). */
export async function run(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  streams: Streams,
): Promise<number> {
  // `fleet help send` is `fleet send --help`.
  const argv = given[0] === 'help' ? [...given.slice(1), '--help'] : given;
  let code = 0;
  let asked: string | undefined;
  const quiet = quietOn(streams.stdout);
  const program = root(quiet);
  const nodes = new Map<string, ParserNode>([['', program]]);
  for (const usage of USAGES) {
    const words = usage.name.split(' ');
    const parent = groupOf(nodes, words.slice(0, -1), quiet);
    const node = quiet(parent.command(words.at(-1) ?? ''), usage.summary);
    attach(node, usage, async (parse) => {
      const { url, tokenEnv } = node.opts();
      asked = agentOptions({ url, 'token-env': tokenEnv });
      code = await call(usage, parse(), env, streams);
    });
  }
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : withoutHelpOfUnknown(argv), {
      from: 'user',
    });
    return code;
  } catch (thrown) {
    const name = calledName(argv);
    const error = thrown instanceof CommanderError ? refusal(thrown, nodes.get(name)) : thrown;
    if (error === undefined) return 0;
    // Loaded on use, as the implementations are.
    const { reportError } = await import('./command-line/errors.ts');
    return reportError(error, { name: `fleet ${name}`.trim(), agent: asked }, outputIn(argv), streams);
  }
}

/** Loads a command and calls it. */
async function call(
  usage: Usage,
  { values, positionals, output }: Pick<Invocation<OptionSpecs>, 'values' | 'positionals' | 'output'>,
  given: NodeJS.ProcessEnv,
  { stdin, stdout, stderr }: Streams,
): Promise<number> {
  const { findFolder } = await import('./folder/fleet-folder.ts');
  const { withLocalEnv } = await import('./folder/env-local.ts');
  const env = withLocalEnv(findFolder(given, process.cwd()), given, stderr);
  const { run } = await loadCommand(usage.name);
  const { useCertificates } = await import('./client/tls.ts');
  const { serializerOf } = await import('./command-line/document.ts');
  const { refuseWithoutNode } = await import('./containers/without-node.ts');
  refuseWithoutNode(usage, values, positionals, env);
  useCertificates(env);
  const serialize = output === 'text' ? undefined : await serializerOf(output);
  const print = serialize && ((value: unknown) => void stdout.write(serialize(value)));
  const show: Invocation<OptionSpecs>['show'] = (value, render) =>
    print ? print(value) : printLines(stdout, render(value));
  return (await run({ values, positionals, env, stdin, stdout, stderr, output, print, show })) ?? 0;
}

/** The words for the parser, which would print the whole help for `--help` of an unknown command. */
function withoutHelpOfUnknown(argv: readonly string[]): string[] {
  const [first = ''] = argv;
  const isKnown = first.startsWith('-') || USAGES.some(({ name }) => name.split(' ')[0] === first);
  return isKnown ? [...argv] : argv.filter((word) => word !== '--help' && word !== '-h');
}

type Quiet = (node: ParserNode, summary: string) => ParserNode;

function root(quiet: Quiet): ParserNode {
  const program = quiet(
    new ParserNode('fleet').usage('<command> [options]'),
    'Hermes Fleet: send tasks to a fleet of agents, and look after it',
  );
  program.version(version(), '-V, --version', 'print the version');
  program.addHelpText(
    'after',
    `\n${ABOUT}\n\nfleet <command> --help shows the options of a command, with examples.`,
  );
  return program;
}

/** The node of a group such as `trader audit`, which is made on first use. */
function groupOf(nodes: Map<string, ParserNode>, words: readonly string[], quiet: Quiet): ParserNode {
  const name = words.join(' ');
  const known = nodes.get(name);
  if (known) return known;
  const node = quiet(
    groupOf(nodes, words.slice(0, -1), quiet).command(words.at(-1) ?? ''),
    GROUPS[name] ?? '',
  );
  node.usage('<command> [options]');
  nodes.set(name, node);
  return node;
}

/** Why the parser refuses a command line; undefined when it has printed help or the version. */
function refusal(thrown: CommanderError, group: ParserNode | undefined): UsageError | undefined {
  if (thrown.exitCode === 0) return undefined;
  if (thrown.code !== 'commander.help' || group === undefined)
    return new UsageError(thrown.message.replace(/^error: /, '').replaceAll('\n', ' '));
  // A group has no work of its own: the parser would print its help.
  const names = group.commands.map((each) => each.name()).join(', ');
  return new UsageError(`${group.name()} needs a command: ${names}`);
}

/** Help goes to `stdout`; errors are thrown, and printed in one place. */
const quietOn =
  (stdout: Streams['stdout']): Quiet =>
  (node, summary) =>
    node
      .description(summary)
      .helpOption('-h, --help', 'print this help')
      .helpCommand(false)
      .configureHelp({ subcommandTerm: (each) => each.name() })
      .exitOverride()
      .configureOutput({
        writeOut: (text) => stdout.write(text),
        writeErr: () => undefined,
        outputError: () => undefined,
      });

/** The longest name of a command or group that the command line begins with; empty without one. */
function calledName(argv: readonly string[]): string {
  const names = new Set([...USAGES.map(({ name }) => name), ...Object.keys(GROUPS)]);
  const found = argv.map((_, at) => argv.slice(0, at + 1).join(' ')).findLast((name) => names.has(name));
  return found ?? '';
}
