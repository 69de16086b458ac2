import { flag, text, texts, usage } from '../command-line/command.ts';
import { PLAN_OPTIONS, SERVICE_OPTIONS } from '../command-line/shared-options.ts';

export const upUsage = usage('up', 'start the fleet, in containers or as plain processes', {
  options: {
    ...PLAN_OPTIONS,
    'no-restart': flag(
      'leave running services alone whose program, configuration, environment or keys have changed',
    ),
    'no-supervisor': flag('leave processes down that die; FLEET_SUPERVISOR=off does the same'),
  },
  examples: ['up', 'up --port-offset 1000'],
});

export const downUsage = usage('down', 'stop the fleet', { options: PLAN_OPTIONS });

export const psUsage = usage('ps', 'list the processes or the containers of the fleet', {
  options: PLAN_OPTIONS,
  examples: ['ps', 'ps --json'],
});

export const backupUsage = usage(
  'backup',
  'write keys, ledgers, audit, workspaces and streams of the fleet to a file, as of one moment',
  {
    args: '<file>',
    options: {
      ...PLAN_OPTIONS,
      member: text('name', 'only this member, without the streams, to move it'),
    },
    examples: ['backup fleet.tar.zst', 'backup neo.tar.zst --member neo'],
  },
);

export const restoreUsage = usage('restore', 'put a backup into the folder of a fleet that is down', {
  args: '<file>',
  options: PLAN_OPTIONS,
  examples: ['restore fleet.tar.zst'],
});

export const demoUsage = usage(
  'demo',
  'send real tasks to a running fleet: routed, blocked, passed on, plain text, and a decision',
  {
    textOnly: true,
    options: SERVICE_OPTIONS,
  },
);

export const firstFlightUsage = usage(
  'first-flight',
  'print the addresses of the fleet and a first request to paste',
  {
    textOnly: true,
    options: {
      address: texts('name=url', 'an address to print; repeat it for each'),
      root: text('folder', 'the checkout to name'),
      request: text('file', 'the file with the first request to name'),
      'token-command': text('command', 'a shell command that prints the token'),
      console: text('url', 'the link to the console to print'),
      settle: text('url', 'wait until the profile at this URL has heard from its peers'),
    },
    examples: ['first-flight --address switch=http://127.0.0.1:9219'],
  },
);

export const completionUsage = usage(
  'completion',
  'print a script that completes commands and options in bash or zsh',
  {
    args: 'bash|zsh',
    textOnly: true,
    options: {},
    examples: ['completion bash'],
  },
);
