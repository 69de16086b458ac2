import type { Command } from './command-line/command.ts';

interface CommandModule {
  /** The first words of its commands. */
  readonly words: readonly string[];
  readonly load: () => Promise<readonly Command[]>;
}

/** The modules of all commands, in the order in which `--help` lists them. */
const MODULES: readonly CommandModule[] = [
  { words: ['send'], load: async () => [(await import('./commands/send.ts')).sendCommand] },
  {
    words: ['tasks', 'task', 'watch', 'cancel', 'answer'],
    load: async () => (await import('./commands/tasks.ts')).taskCommands,
  },
  { words: ['cost'], load: async () => [(await import('./commands/cost.ts')).costCommand] },
  { words: ['events'], load: async () => [(await import('./commands/events.ts')).eventsCommand] },
  { words: ['console'], load: async () => [(await import('./commands/console.ts')).consoleCommand] },
  { words: ['logs'], load: async () => [(await import('./commands/logs.ts')).logsCommand] },
  { words: ['route'], load: async () => [(await import('./commands/route.ts')).routeCommand] },
  { words: ['peers'], load: async () => [(await import('./commands/peers.ts')).peersCommand] },
  { words: ['context'], load: async () => [(await import('./commands/context.ts')).contextDeleteCommand] },
  { words: ['mcp'], load: async () => [(await import('./commands/mcp.ts')).mcpCommand] },
  { words: ['doctor'], load: async () => [(await import('./commands/doctor.ts')).doctorCommand] },
  { words: ['card'], load: async () => [(await import('./commands/card.ts')).cardCommand] },
  {
    words: ['trader'],
    load: async () => [
      ...(await import('./commands/trader.ts')).traderCommands,
      ...(await import('./commands/trader-books.ts')).booksCommands,
      ...(await import('./commands/trader-backtest.ts')).backtestCommands,
      (await import('./commands/trader-account.ts')).resetCommand,
      ...(await import('./commands/trader-audit.ts')).auditCommands,
      (await import('./commands/trader-accept.ts')).acceptCommand,
    ],
  },
  {
    words: ['up', 'down', 'ps'],
    load: async () => (await import('./commands/checkout.ts')).checkoutCommands,
  },
  { words: ['backup', 'restore'], load: async () => (await import('./commands/backup.ts')).backupCommands },
  {
    words: ['join', 'leave'],
    load: async () => (await import('./commands/join.ts')).joinCommands,
  },
  {
    words: ['join-token'],
    load: async () => (await import('./commands/join-token.ts')).joinTokenCommands,
  },
  {
    words: ['workers'],
    load: async () => (await import('./commands/join-token.ts')).workersCommands,
  },
  { words: ['demo'], load: async () => [(await import('./commands/demo.ts')).demoCommand] },
  {
    words: ['first-flight'],
    load: async () => [(await import('./commands/first-flight.ts')).firstFlightCommand],
  },
  { words: ['token', 'keys'], load: async () => (await import('./commands/keys.ts')).keysCommands },
  { words: ['local'], load: async () => (await import('./commands/local.ts')).localCommands },
  { words: ['nats'], load: async () => (await import('./commands/nats.ts')).natsCommands },
  {
    words: ['completion'],
    load: async () => [(await import('./commands/completion.ts')).completionCommand(() => loadCommands())],
  },
];

/** Loads the commands whose first word this is, as every module costs time at each call; without such a word, all. */
export async function loadCommands(word?: string): Promise<readonly Command[]> {
  const named = MODULES.find(({ words }) => word !== undefined && words.includes(word));
  const loaded = await Promise.all((named ? [named] : MODULES).map(({ load }) => load()));
  return loaded.flat();
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
