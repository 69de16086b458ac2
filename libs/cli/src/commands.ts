import type { Command } from './command-line/command.ts';
import { cardCommand } from './commands/card.ts';
import { checkoutCommands } from './commands/checkout.ts';
import { completionCommand } from './commands/completion.ts';
import { consoleCommand } from './commands/console.ts';
import { contextDeleteCommand } from './commands/context.ts';
import { costCommand } from './commands/cost.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eventsCommand } from './commands/events.ts';
import { firstFlightCommand } from './commands/first-flight.ts';
import { keysCommands } from './commands/keys.ts';
import { localCommands } from './commands/local.ts';
import { logsCommand } from './commands/logs.ts';
import { mcpCommand } from './commands/mcp.ts';
import { natsCommands } from './commands/nats.ts';
import { peersCommand } from './commands/peers.ts';
import { routeCommand } from './commands/route.ts';
import { sendCommand } from './commands/send.ts';
import { taskCommands } from './commands/tasks.ts';
import { traderCommands } from './commands/trader.ts';
import { auditCommands } from './commands/trader-audit.ts';

/** Every command, in the order in which `--help` lists them. */
export const COMMANDS: readonly Command[] = [
  sendCommand,
  ...taskCommands,
  costCommand,
  eventsCommand,
  consoleCommand,
  logsCommand,
  routeCommand,
  peersCommand,
  contextDeleteCommand,
  mcpCommand,
  doctorCommand,
  cardCommand,
  ...traderCommands,
  ...auditCommands,
  ...checkoutCommands,
  demoCommand,
  firstFlightCommand,
  ...keysCommands,
  ...localCommands,
  ...natsCommands,
  completionCommand(() => COMMANDS),
];

/** The summary of each group of commands, by the words that its commands begin with. */
export const GROUPS: Readonly<Record<string, string>> = {
  context: 'delete a context with its tasks and files',
  trader: 'strategies, decisions and the audit of the trader',
  'trader audit': "verify or print the audit from the trader's file",
  keys: "create or replace the keys of the fleet, and print the operator's token",
  local: 'run the fleet as plain processes on this machine',
  nats: 'administer the event bus',
};
