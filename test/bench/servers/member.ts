import type { GatewayAgent, GatewayOptions } from '@hermes-fleet/gateway';
import {
  closeConnections,
  closeStores,
  createMemberGateway,
  createMemberPeers,
  createProblems,
  leaveRotation,
  openMember,
  openMemberTracing,
  profileDir,
  readMemberConfiguration,
  readMemberEnvironment,
  serveMember,
} from '@hermes-fleet/gateway/member';
import { createLogger, createSecretEnv } from '@hermes-fleet/service';

// A member of the fleet with everything but an agent: authentication, ledger, admission, scheduling, log, metrics. Its
// executor repeats the brief. With the argument `free` it is declared free of effects, as echo is.

const NAME = 'bench';
const AFTER_TASKS_MS = 1_000;

const isFreeOfEffects = process.argv[2] === 'free';
const environment = readMemberEnvironment(NAME, (home) => profileDir(home, NAME), process.env);
const problems = createProblems(NAME);
const env = createSecretEnv(process.env);
const { whole } = readMemberConfiguration(environment, env, process.env, problems);
if (!whole) throw problems.error();

const log = createLogger({ name: NAME, level: environment.logLevel });
const opened = new AsyncDisposableStack();
const tracing = await openMemberTracing(NAME, process.env, log, opened);
const member = openMember(
  environment,
  whole,
  { log, tracing, disabled: 'the bench sends and serves nothing' },
  opened,
);
if (!member) throw new Error('the profile of the bench is disabled');

const agent: GatewayAgent = {
  executor: {
    model: { id: NAME, tier: 'sonnet', contextWindow: 1_000_000 },
    ...(isFreeOfEffects ? { isFreeOfEffects } : {}),
    run: async ({ dispatch }) => ({
      status: 'done',
      nextSteps: [],
      blockedReason: null,
      artifacts: { filesChanged: [] },
      text: dispatch.brief,
    }),
  },
  capabilities: () => ({ tools: ['terminal'] }),
  repoState: async () => ({ branch: 'main', clean: true }),
  minimumBudget: 0,
};
const mcp: GatewayOptions['mcp'] = {
  names: () => [],
  health: () => ({}),
  probe: (name) => Promise.reject(new Error(`there is no MCP server ${name}`)),
  onChange: () => ({ [Symbol.dispose]: () => undefined }),
};
const fleet = createMemberGateway(member, createMemberPeers(member), { agent, mcp }, opened);
await serveMember(
  member,
  fleet,
  {
    countCache: false,
    readiness: () => ({ ready: true, dependencies: {} }),
    recover: () => fleet.gateway.recover(),
    shutdownSteps: (serving, leave, graceMs) => [
      { name: 'stop tasks', run: () => leaveRotation(serving, leave, graceMs) },
      ...closeConnections(serving),
      { name: 'close the stores', run: () => closeStores([serving.ledger], serving.ownership) },
    ],
    afterTasksMs: AFTER_TASKS_MS,
  },
  opened,
);
