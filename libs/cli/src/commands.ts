import type { Command, Usage } from './command-line/command.ts';
import * as fleet from './usage/fleet.ts';
import * as keys from './usage/keys.ts';
import * as processes from './usage/processes.ts';
import * as tasks from './usage/tasks.ts';
import * as trader from './usage/trader.ts';
import * as books from './usage/trader-books.ts';
import * as workers from './usage/workers.ts';

/** Commands of one module, which is loaded when one of them is called. */
interface CommandModule {
  readonly usages: readonly Usage[];
  readonly load: () => Promise<readonly Command[]>;
}

/** The modules of all commands, in the order in which `--help` lists them. */
const MODULES: readonly CommandModule[] = [
  { usages: [tasks.sendUsage], load: async () => [(await import('./commands/send.ts')).sendCommand] },
  {
    usages: [tasks.tasksUsage, tasks.taskUsage, tasks.watchUsage, tasks.cancelUsage, tasks.answerUsage],
    load: async () => (await import('./commands/tasks.ts')).taskCommands,
  },
  { usages: [tasks.costUsage], load: async () => [(await import('./commands/cost.ts')).costCommand] },
  { usages: [fleet.eventsUsage], load: async () => [(await import('./commands/events.ts')).eventsCommand] },
  {
    usages: [fleet.consoleUsage],
    load: async () => [(await import('./commands/console.ts')).consoleCommand],
  },
  { usages: [fleet.logsUsage], load: async () => [(await import('./commands/logs.ts')).logsCommand] },
  { usages: [fleet.routeUsage], load: async () => [(await import('./commands/route.ts')).routeCommand] },
  { usages: [fleet.peersUsage], load: async () => [(await import('./commands/peers.ts')).peersCommand] },
  {
    usages: [fleet.contextDeleteUsage],
    load: async () => [(await import('./commands/context.ts')).contextDeleteCommand],
  },
  { usages: [fleet.mcpUsage], load: async () => [(await import('./commands/mcp.ts')).mcpCommand] },
  { usages: [fleet.doctorUsage], load: async () => [(await import('./commands/doctor.ts')).doctorCommand] },
  { usages: [fleet.cardUsage], load: async () => [(await import('./commands/card.ts')).cardCommand] },
  {
    usages: [trader.traderListUsage, trader.traderGetUsage, trader.traderDecideUsage],
    load: async () => (await import('./commands/trader.ts')).traderCommands,
  },
  {
    usages: [books.traderOrdersUsage, books.traderFillsUsage, books.traderPerformanceUsage],
    load: async () => (await import('./commands/trader-books.ts')).booksCommands,
  },
  {
    usages: [books.traderBacktestUsage],
    load: async () => (await import('./commands/trader-backtest.ts')).backtestCommands,
  },
  {
    usages: [trader.traderAccountResetUsage],
    load: async () => [(await import('./commands/trader-account.ts')).resetCommand],
  },
  {
    usages: [trader.traderAuditVerifyUsage, trader.traderAuditShowUsage],
    load: async () => (await import('./commands/trader-audit.ts')).auditCommands,
  },
  {
    usages: [trader.traderAuditAcceptUsage],
    load: async () => [(await import('./commands/trader-accept.ts')).acceptCommand],
  },
  {
    usages: [processes.upUsage, processes.downUsage, processes.psUsage],
    load: async () => (await import('./commands/checkout.ts')).checkoutCommands,
  },
  {
    usages: [processes.backupUsage, processes.restoreUsage],
    load: async () => (await import('./commands/backup.ts')).backupCommands,
  },
  {
    usages: [workers.joinUsage, workers.leaveUsage],
    load: async () => (await import('./commands/join.ts')).joinCommands,
  },
  {
    usages: [workers.joinTokenCreateUsage, workers.joinTokenListUsage, workers.joinTokenRevokeUsage],
    load: async () => (await import('./commands/join-token.ts')).joinTokenCommands,
  },
  {
    usages: [workers.workersListUsage, workers.workersRevokeUsage],
    load: async () => (await import('./commands/join-token.ts')).workersCommands,
  },
  { usages: [processes.demoUsage], load: async () => [(await import('./commands/demo.ts')).demoCommand] },
  {
    usages: [processes.firstFlightUsage],
    load: async () => [(await import('./commands/first-flight.ts')).firstFlightCommand],
  },
  {
    usages: [keys.operatorTokenUsage, keys.keysTokenUsage],
    load: async () => (await import('./commands/token.ts')).tokenCommands,
  },
  {
    usages: [keys.keysInitUsage, keys.keysRotateUsage, keys.keysKubernetesUsage],
    load: async () => (await import('./commands/keys.ts')).keysCommands,
  },
  {
    usages: [
      processes.localUpUsage,
      processes.localDownUsage,
      processes.localPsUsage,
      processes.localLogsUsage,
    ],
    load: async () => (await import('./commands/local.ts')).localCommands,
  },
  {
    usages: [keys.natsSetupUsage, keys.natsRefillUsage, keys.natsForgetHeadUsage],
    load: async () => (await import('./commands/nats.ts')).natsCommands,
  },
  {
    usages: [processes.completionUsage],
    load: async () => [(await import('./commands/completion.ts')).completionCommand(USAGES)],
  },
];

/** What `--help` and the parser know of each command, in the order of `--help`. */
export const USAGES: readonly Usage[] = MODULES.flatMap(({ usages }) => usages);

/** Loads the implementation of the command with these words. */
export async function loadCommand(words: string): Promise<Command> {
  const found = MODULES.find(({ usages }) => usages.some(({ name }) => name === words));
  const command = (await found?.load())?.find(({ name }) => name === words);
  if (command === undefined) throw new Error(`the module of fleet ${words} does not implement it`);
  return command;
}

/** The summary of each group of commands, by the words that its commands begin with. */
export const GROUPS: Readonly<Record<string, string>> = {
  context: 'delete a context with its tasks and files',
  trader: 'strategies, decisions, books, backtests and the audit of the trader',
  'trader account': 'the paper accounts of the trader',
  'trader audit': "verify or print the audit from the trader's file, or accept a broken one",
  keys: "create or replace the keys of the fleet, and print the operator's token",
  'join-token': 'make, print and revoke the tokens with which workers join',
  workers: 'print the workers that joined, and revoke one',
  local: 'run the fleet as plain processes on this machine',
  nats: 'administer the event bus',
};
