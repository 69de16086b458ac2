import { flag, text, texts, usage } from '../command-line/command.ts';
import { FLEET_OPTIONS } from '../command-line/shared-options.ts';

export const joinUsage = usage('join', 'join this machine to a fleet as a worker, and start it', {
  args: '<orchestrator>',
  options: {
    'token-file': text('file', 'the file with the join token; FLEET_JOIN_TOKEN without it'),
    name: text('name', 'the name of the worker; that of the join token, or of this host'),
    endpoint: text('url', 'the address at which the orchestrator reaches this worker'),
    bind: text('host:port', 'where the gateway listens; port 9230 by default'),
    'cert-file': text('file', 'the certificate with which it serves https; without it, a reverse proxy does'),
    'key-file': text('file', 'the key of that certificate'),
    tier: text('tier', 'its tier; that of the join token by default'),
    'profile-dir': text(
      'folder',
      'the profile that it runs, such as deploy/profiles/neo; a general worker by default',
    ),
    dir: text('folder', 'its folder; .fleet/workers/<name> of the checkout by default'),
    'workspace-dir': text('folder', 'its workspace; HERMES_WORKSPACE_DIR, or a folder in --dir, by default'),
    foreground: flag('stay, and run the gateway here, as in a container or a service'),
    'allow-http': flag('allow addresses without TLS that are not on this machine'),
  },
  examples: [
    'join https://switch.example --token-file token --endpoint https://worker-7.example',
    'join http://127.0.0.1:9219 --token-file token --profile-dir deploy/profiles/neo',
  ],
});

export const leaveUsage = usage(
  'leave',
  'take this worker out of its fleet, once it has finished what it has',
  {
    args: '[name]',
    options: {
      dir: text('folder', 'its folder; .fleet/workers/<name> of the checkout by default'),
      wait: text('time', 'how long to wait for its tasks, such as 90s or 2h; 15m by default'),
      now: flag('wait for nothing: the orchestrator gives its tasks up, as errors that can be sent again'),
    },
    examples: ['leave', 'leave worker-7 --wait 2h'],
  },
);

export const joinTokenCreateUsage = usage(
  'join-token create',
  'make a join token, with which one worker joins within a time',
  {
    options: {
      name: text('name', 'the name of the worker; * stands for any part; any name by default'),
      expires: text('time', 'from 1m to 1d; 15m by default'),
      tier: text('tier', "the worker's tier"),
      endpoint: texts('url', 'where the worker will be, as in fleet.join.endpoints, which holds without it'),
      scope: texts('scope', 'what it may do beside announcing itself and joining: dispatch, read'),
      'token-file': text('file', 'write the token to a new file, with mode 0600, instead of stdout'),
      address: text('url', 'the address of the orchestrator in the command that is printed'),
      ...FLEET_OPTIONS,
    },
    examples: [
      'join-token create --name worker-7 --endpoint https://worker-7.example',
      'join-token create --name "gpu-*" --expires 1h',
    ],
  },
);

export const joinTokenListUsage = usage('join-token list', 'print the join tokens and their state', {
  options: FLEET_OPTIONS,
});

export const joinTokenRevokeUsage = usage('join-token revoke', 'revoke a join token that was not used', {
  args: '<id>',
  options: FLEET_OPTIONS,
  examples: ['join-token revoke 4f1c9a0b2d'],
});

export const workersListUsage = usage('workers list', 'print the workers that joined with a join token', {
  options: FLEET_OPTIONS,
});

export const workersRevokeUsage = usage('workers revoke', 'end the membership of a worker at once', {
  args: '<name>',
  options: FLEET_OPTIONS,
  examples: ['workers revoke worker-7'],
});
