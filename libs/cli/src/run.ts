import { UsageError } from './command-line/options.ts';
import { cardCommand } from './commands/card.ts';
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

  keys init    make what is missing of the fleet's keys  [--dir --services --owner --nats-…]
  keys rotate  make all keys anew; restart the services afterwards
  keys token   print the operator's token (also: fleet token)
  nats setup   create or update the event streams  [--server]
  nats forget-head  shows the head that NATS holds of a service's audit, and removes it: for a file that was put back
               on purpose: nats forget-head <service>  [--json --dir --port-offset | --as-is --server]
  local up     the fleet as plain processes  [--dir --port-offset --json]
  local down | ps | logs [name…] [--follow --tail]
  first-flight print addresses and a first request to paste  [--address name=url … --settle url --token-command --id]
  demo         a first flight on the fleet that runs: routed, blocked, passed on, plain text, a decision
               [--dir --port-offset | --address name=url … --reach name=url … --token-stdin]
  route        where a dispatch would go now; --explain: every peer that is considered, and why; spends nothing
               [--file dispatch.json | --brief --mcp --capability --tier-min --tier-max --tier-prefer
               --context-window --priority --budget --deadline --target --read-only --task-id]
               [--profile --json --dir --port-offset | --reach name=url … --token-stdin]
  peers        whom a profile knows, and how they are  [--profile --json --dir --port-offset | --reach … --token-stdin]
  card         an agent card, from files alone: card <profile|trader>  [--dir --port-offset | --as-is]
  doctor       the checks of a start, of a profile or the trader, and of everything that it talks to
               [--profile --json --dir --port-offset | --as-is]
  trader list  the strategies  [--account --market --status --json --dir --port-offset | --reach … --token-stdin]
  trader get   one strategy, what it holds and how it is controlled: trader get <id>  [as list]
  trader decide  sends a control decision: trader decide <file>, or - for stdin
               [--action --reason --target --expected id|none --risk-mode --confidence --concern --id
               --dry-run --override]  [as list]
  trader audit verify | show  the trader's audit, from its file  [--after --limit --json --dir --port-offset | --as-is]

\`--profile\` is switch by default. \`--mcp\` and \`--capability\` may be given several times, or with commas.

Exit codes: 0 done, 1 error, 2 usage, 3 blocked: nobody can take the dispatch, or the trader rejected the decision.
`;

/** The `fleet` command: runs one subcommand and resolves with the exit code (design 5, CLI). */
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
