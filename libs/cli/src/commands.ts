import type { Command, Usage } from './command-line/command.ts';
import * as fleet from './command-specs/fleet.ts';
import * as folder from './command-specs/folder.ts';
import * as keys from './command-specs/keys.ts';
import * as processes from './command-specs/processes.ts';
import * as tasks from './command-specs/tasks.ts';
import * as trader from './command-specs/trader.ts';
import * as books from './command-specs/trader-books.ts';
import * as workers from './command-specs/workers.ts';

/** Commands of one module, which is loaded when one of them is called. */
interface CommandModule {
  readonly usages: readonly Usage[];
  readonly load: () => Promise<{ readonly commands: readonly Command[] }>;
}

/** The modules of all commands, in the order in which `--help` lists them. */
const MODULES: readonly CommandModule[] = [
  { usages: [folder.initUsage], load: () => import('./commands/init.ts') },
  {
    usages: [processes.upUsage, processes.downUsage],
    load: () => import('./commands/up.ts'),
  },
  { usages: [processes.psUsage], load: () => import('./commands/ps.ts') },
  {
    usages: [folder.profileAddUsage, folder.profileRemoveUsage],
    load: () => import('./commands/profile.ts'),
  },
  { usages: [fleet.addUsage], load: () => import('./commands/add.ts') },
  { usages: [tasks.sendUsage], load: () => import('./commands/send.ts') },
  {
    usages: [tasks.tasksUsage, tasks.taskUsage, tasks.watchUsage, tasks.cancelUsage, tasks.answerUsage],
    load: () => import('./commands/tasks.ts'),
  },
  {
    usages: [tasks.diffUsage, tasks.showUsage, tasks.pullUsage],
    load: () => import('./commands/results.ts'),
  },
  { usages: [tasks.costUsage], load: () => import('./commands/cost.ts') },
  { usages: [fleet.eventsUsage], load: () => import('./commands/events.ts') },
  { usages: [fleet.consoleUsage], load: () => import('./commands/console.ts') },
  { usages: [fleet.logsUsage], load: () => import('./commands/logs.ts') },
  { usages: [fleet.routeUsage], load: () => import('./commands/route.ts') },
  { usages: [fleet.peersUsage], load: () => import('./commands/peers.ts') },
  { usages: [fleet.contextDeleteUsage], load: () => import('./commands/context.ts') },
  { usages: [fleet.mcpUsage], load: () => import('./commands/mcp.ts') },
  { usages: [fleet.doctorUsage], load: () => import('./commands/doctor.ts') },
  { usages: [fleet.cardUsage], load: () => import('./commands/card.ts') },
  {
    usages: [trader.traderListUsage, trader.traderGetUsage, trader.traderDecideUsage],
    load: () => import('./commands/trader.ts'),
  },
  {
    usages: [books.traderOrdersUsage, books.traderFillsUsage, books.traderPerformanceUsage],
    load: () => import('./commands/trader-books.ts'),
  },
  { usages: [books.traderBacktestUsage], load: () => import('./commands/trader-backtest.ts') },
  { usages: [trader.traderAccountResetUsage], load: () => import('./commands/trader-operator.ts') },
  {
    usages: [trader.traderAuditVerifyUsage, trader.traderAuditShowUsage],
    load: () => import('./commands/trader-audit.ts'),
  },
  { usages: [trader.traderAuditAcceptUsage], load: () => import('./commands/trader-operator.ts') },
  { usages: [processes.backupUsage, processes.restoreUsage], load: () => import('./commands/backup.ts') },
  { usages: [workers.joinUsage, workers.leaveUsage], load: () => import('./commands/join.ts') },
  {
    usages: [
      ...[workers.joinTokenCreateUsage, workers.joinTokenListUsage, workers.joinTokenRevokeUsage],
      ...[workers.workersListUsage, workers.workersRevokeUsage],
    ],
    load: () => import('./commands/join-token.ts'),
  },
  { usages: [processes.demoUsage], load: () => import('./commands/demo.ts') },
  { usages: [processes.firstFlightUsage], load: () => import('./commands/first-flight.ts') },
  { usages: [keys.operatorTokenUsage, keys.keysTokenUsage], load: () => import('./commands/token.ts') },
  {
    usages: [keys.keysInitUsage, keys.keysRotateUsage, keys.keysKubernetesUsage],
    load: () => import('./commands/keys.ts'),
  },
  {
    usages: [keys.natsSetupUsage, keys.natsRefillUsage, keys.natsForgetHeadUsage],
    load: () => import('./commands/nats.ts'),
  },
  {
    usages: [processes.completionUsage],
    load: async () => ({ commands: [(await import('./commands/completion.ts')).completionCommand(USAGES)] }),
  },
];

/** What `--help` and the parser know of each command, in the order of `--help`. */
export const USAGES: readonly Usage[] = MODULES.flatMap(({ usages }) => usages);

/** Loads the implementation of the command with these words. */
export async function loadCommand(words: string): Promise<Command> {
  const found = MODULES.find(({ usages }) => usages.some(({ name }) => name === words));
  const command = (await found?.load())?.commands.find(({ name }) => name === words);
  if (command === undefined) throw new Error(`the module of fleet ${words} does not implement it`);
  return command;
}

/** The summary of each group of commands, by the words that its commands begin with. */
export const GROUPS: Readonly<Record<string, string>> = {
  profile: 'add a profile to the fleet, or remove one',
  context: 'delete a context with its tasks and files',
  trader: 'strategies, decisions, books, backtests and the audit of the trader',
  'trader account': 'the paper accounts of the trader',
  'trader audit': "verify or print the audit from the trader's file, or accept a broken one",
  keys: "create or replace the keys of the fleet, and print the operator's token",
  'join-token': 'make, print and revoke the tokens with which workers join',
  workers: 'print the workers that joined, and revoke one',
  nats: 'administer the event bus',
};
