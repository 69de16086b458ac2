import { flag, text, texts, usage } from '../command-line/command.ts';
import { FLEET_OPTIONS, PLAN_OPTIONS } from '../command-line/shared-options.ts';

const ofCheckout = (name: string, summary: string) =>
  usage({ name, summary, textOnly: true, options: {}, examples: [name] });

export const upUsage = ofCheckout('up', 'start the fleet, in containers or as plain processes');
export const downUsage = ofCheckout('down', 'stop the fleet');

export const psUsage = usage({
  name: 'ps',
  summary: 'list the processes or the containers of the fleet',
  options: {},
  examples: ['ps', 'ps --json'],
});

export const localUpUsage = usage({
  name: 'local up',
  summary: 'start the fleet as plain processes',
  options: PLAN_OPTIONS,
  examples: ['local up', 'local up --port-offset 1000'],
});

export const localDownUsage = usage({
  name: 'local down',
  summary: 'stop the fleet',
  options: PLAN_OPTIONS,
  examples: ['local down'],
});

export const localPsUsage = usage({
  name: 'local ps',
  summary: 'list its processes',
  options: PLAN_OPTIONS,
  examples: ['local ps'],
});

export const localLogsUsage = usage({
  name: 'local logs',
  summary: 'print the logs of all processes, or of those that are named',
  args: '[name...]',
  textOnly: true,
  options: {
    ...PLAN_OPTIONS,
    follow: flag('go on with what is written from now on', 'f'),
    tail: text('lines', 'how many lines of each; 100 by default'),
  },
  examples: ['local logs switch neo --follow'],
});

export const backupUsage = usage({
  name: 'backup',
  summary: 'write keys, ledgers, audit, workspaces and streams of the fleet to a file, as of one moment',
  args: '<file>',
  options: {
    ...PLAN_OPTIONS,
    member: text('name', 'only this member, without the streams, to move it'),
  },
  examples: ['backup fleet.tar.zst', 'backup neo.tar.zst --member neo'],
});

export const restoreUsage = usage({
  name: 'restore',
  summary: 'put a backup into the folder of a fleet that is down',
  args: '<file>',
  options: PLAN_OPTIONS,
  examples: ['restore fleet.tar.zst'],
});

const { profile: _, ...DEMO_OPTIONS } = FLEET_OPTIONS;

export const demoUsage = usage({
  name: 'demo',
  summary: 'send real tasks to a running fleet: routed, blocked, passed on, plain text, and a decision',
  textOnly: true,
  options: {
    ...DEMO_OPTIONS,
    address: texts('name=url', 'an address to print; repeat it for each'),
  },
  examples: ['demo'],
});

export const firstFlightUsage = usage({
  name: 'first-flight',
  summary: 'print the addresses of the fleet and a first request to paste',
  textOnly: true,
  options: {
    address: texts('name=url', 'an address to print; repeat it for each'),
    root: text('folder', 'the checkout to name'),
    'token-command': text('command', 'a shell command that prints the token'),
    console: text('url', 'the link to the console to print'),
    settle: text('url', 'wait until the profile at this URL has heard from its peers'),
  },
  examples: ['first-flight --address switch=http://127.0.0.1:9219'],
});

export const completionUsage = usage({
  name: 'completion',
  summary: 'print a script that completes commands and options in bash or zsh',
  args: 'bash|zsh',
  textOnly: true,
  options: {},
  examples: ['completion bash'],
});
