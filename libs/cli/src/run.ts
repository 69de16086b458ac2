import { UsageError } from './command-line/options.ts';
import { cardCommand } from './commands/card.ts';
import { contextCommand } from './commands/context.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { firstFlightCommand } from './commands/first-flight.ts';
import { keysCommand } from './commands/keys.ts';
import { localCommand } from './commands/local.ts';
import { natsCommand } from './commands/nats.ts';
import { peersCommand } from './commands/peers.ts';
import { routeCommand } from './commands/route.ts';
import { traderCommand } from './commands/trader.ts';

const USAGE = `fleet <command>

  keys init    create missing keys of the fleet  [--dir --services --owner --nats-…]
  keys rotate  replace all keys; restart the services afterwards
  keys token   print the operator's token (also: fleet token)
  nats setup   create or update the event streams  [--server]
  nats forget-head  print the audit head that NATS holds for a service, and remove it, after the audit's file was
               restored on purpose: nats forget-head <service>  [--json --dir --port-offset | --as-is --server]
  local up     start the fleet as plain processes  [--dir --port-offset --json]
  local down | ps | logs [name…]  stop it, show its processes, show its logs  [--dir --json --follow --tail]
  first-flight print the addresses and a first request to paste
               [--address name=url … --settle url --token-command --id]
  demo         send real tasks to a running fleet: routed, blocked, passed on, plain text, and a decision
               [--dir --port-offset | --address name=url … --reach name=url … --token-stdin]
  route        print where a dispatch would go now, spending nothing; --explain: every considered peer, and why
               [--file dispatch.json | --brief --mcp --capability --tier-min --tier-max --tier-prefer
               --context-window --priority --budget --deadline --target --read-only --task-id]
               [--profile --json --dir --port-offset | --reach name=url … --token-stdin]
  peers        print the peers of a profile and their state
               [--profile --json --dir --port-offset | --reach … --token-stdin]
  context delete  delete a context of the operator with its tasks and files, here and at the peers that did work of it:
               context delete <context-id>; an unmerged result stays, unless --results delete
               [--results keep|delete --profile --json --dir --port-offset | --reach … --token-stdin]
  card         print an agent card, built from files: card <profile|trader>  [--dir --port-offset | --as-is]
  doctor       check the configuration of a profile or the trader, and everything that it connects to;
               --call: also call each model of the profile once, for about 30 tokens, at most 300
               [--profile --call --json --dir --port-offset | --as-is]
  trader list  print the strategies  [--account --market --status --json --dir --port-offset | --reach … --token-stdin]
  trader get   print a strategy with its position, orders and control state: trader get <id>  [as list]
  trader decide  send a control decision: trader decide <file>, or - for stdin
               [--action --reason --target --expected id|none --risk-mode --confidence --concern --id
               --dry-run --override]  [as list]
  trader audit verify | show  verify or print the audit from the trader's file
               [--after --limit --json --dir --port-offset | --as-is]

\`--profile\` is switch by default. \`--mcp\` and \`--capability\` can be repeated or hold a comma-separated list.

Exit codes: 0 done, 1 error, 2 usage, 3 blocked: no peer can take the dispatch, or the trader rejected the decision.
`;

/** The `fleet` command: runs one subcommand and resolves with the exit code (docs/operations.md). */
export async function run(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [command = '', ...rest] = argv;
  try {
    switch (command) {
      case 'keys':
        return keysCommand(rest, env);
      case 'token':
        return keysCommand(['token', ...rest], env);
      case 'nats':
        return await natsCommand(rest, env);
      case 'local':
        return await localCommand(rest, env);
      case 'first-flight':
        return await firstFlightCommand(rest);
      case 'demo':
        return await demoCommand(rest);
      case 'route':
        return await routeCommand(rest);
      case 'peers':
        return await peersCommand(rest);
      case 'context':
        return await contextCommand(rest);
      case 'card':
        return await cardCommand(rest, env);
      case 'doctor':
        return await doctorCommand(rest, env);
      case 'trader':
        return await traderCommand(rest, env);
      case 'help':
      case '--help':
      case '-h':
        process.stdout.write(USAGE);
        return 0;
      default:
        throw new UsageError(command === '' ? 'no command' : `no such command: ${command}`);
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`fleet: ${error.message}\n\n${USAGE}`);
    return 2;
  }
}
