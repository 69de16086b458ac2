import { flag, text, usage } from '../command-line/command.ts';
import {
  DISPATCH_OPTIONS,
  ENTRY_POINT_OPTIONS,
  FLEET_OPTIONS,
  PLAN_OPTIONS,
  REACH_OPTIONS,
} from '../command-line/shared-options.ts';

export const eventsUsage = usage('events', 'print the events of tasks from NATS', {
  options: {
    follow: flag('go on with new events until Ctrl-C', 'f'),
    type: text('type', 'events of this type only, such as done'),
    profile: text('name', 'events of this profile only'),
    task: text('id', 'events of the task with this id or task_id only'),
    ...ENTRY_POINT_OPTIONS,
  },
  examples: ['events --type blocked', 'events --follow --profile neo', 'events --task flight-1 -o json'],
});

export const consoleUsage = usage(
  'console',
  'print a link that opens the console in a browser once, make its read model again, or print the audit heads that it has seen',
  {
    args: '[rebuild|heads]',
    options: {
      'no-open': flag('only print the link: start no browser'),
      address: text('url', 'the address of the console in the link'),
      'as-is': flag('use the environment of this process, as inside the container of the console'),
      ...PLAN_OPTIONS,
    },
    examples: ['console', 'console --no-open', 'console rebuild', 'console heads'],
  },
);

export const logsUsage = usage(
  'logs',
  'print the log lines of a task, of all services; or the logs of services, and without a name follow all',
  {
    args: '[task | service...]',
    options: {
      ...PLAN_OPTIONS,
      follow: flag('go on with what services write from now on', 'f'),
      tail: text('lines', 'how many lines of each service; 100 by default'),
    },
    examples: ['logs', 'logs 01a20cd2-…', 'logs flight-1 --json', 'logs switch neo --follow'],
  },
);

export const routeUsage = usage('route', 'print where a dispatch would go now, spending nothing', {
  options: {
    ...FLEET_OPTIONS,
    ...DISPATCH_OPTIONS,
    file: text('file', 'a file with a TASK_DISPATCH, or - for stdin'),
    explain: flag('print every peer that was considered, and why'),
  },
  examples: ['route --explain --mcp filesystem --priority low', 'route --file dispatch.json --json'],
});

export const peersUsage = usage('peers', 'print the peers of a profile and their state', {
  options: FLEET_OPTIONS,
  examples: ['peers', 'peers --profile neo --json'],
});

export const contextDeleteUsage = usage(
  'context delete',
  'delete a context of the operator with its tasks and files, here and at the peers that did work of it',
  {
    args: '<context-id>',
    options: {
      ...FLEET_OPTIONS,
      results: text('keep|delete', 'what becomes of an unmerged result; keep by default'),
    },
    examples: ['context delete 6f3c…', 'context delete 6f3c… --results delete --profile neo'],
  },
);

export const mcpUsage = usage('mcp', 'serve the fleet to an MCP client over standard input and output', {
  options: {
    ...FLEET_OPTIONS,
    url: text('url', 'the address of a profile, instead of the fleet in --dir'),
    'token-env': REACH_OPTIONS['token-env'],
  },
  textOnly: true,
  examples: ['mcp', 'mcp --url http://127.0.0.1:9219 --token-env FLEET_TOKEN'],
});

export const doctorUsage = usage(
  'doctor',
  'check the configuration of a profile, the trader or the console, and everything that it connects to',
  {
    options: {
      ...ENTRY_POINT_OPTIONS,
      profile: text('name', 'the profile, trader or console; switch by default'),
      call: flag('call each model once too, for about 30 tokens, at most 300'),
    },
    examples: ['doctor', 'doctor --profile neo --call'],
  },
);

export const cardUsage = usage(
  'card',
  'print the agent card of a profile or the trader, built from its files',
  {
    args: '<name>',
    options: ENTRY_POINT_OPTIONS,
    examples: ['card neo', 'card oracle --as-is'],
  },
);

export const addUsage = usage(
  'add',
  'install optional npm packages for the profiles, or print those that are installed',
  {
    args: '[package[@version]...]',
    options: {},
    examples: ['add', 'add @ai-sdk/google @anthropic-ai/claude-agent-sdk'],
  },
);
