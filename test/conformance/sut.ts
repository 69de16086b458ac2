import { lookup } from 'node:dns/promises';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { GatewayOptions } from '@hermes-fleet/gateway';
import {
  closeConnections,
  closeStores,
  createMemberGateway,
  createMemberPeers,
  createProblems,
  leaveRotation,
  openMember,
  readinessFrom,
  readMemberConfiguration,
  serveMember,
  storeState,
} from '@hermes-fleet/gateway/member';
import { FleetError } from '@hermes-fleet/protocol';
import type { Intake } from '@hermes-fleet/protocol/ports';
import { createLogger, createSecretEnv } from '@hermes-fleet/service';
import { stringify } from 'yaml';
import { createConformanceExecutor } from './executor.ts';

// A profile for the official compatibility kit of A2A (docs/a2a.md#the-compatibility-kit): everything is a profile's own
// but the executor, which does what the kit expects. It serves on loopback, without authentication, until SIGTERM.

const NAME = 'conformance';
const IDENTITY = `---
name: ${NAME}
description: A profile whose executor does what the compatibility kit of A2A expects.
tags: [conformance]
---
# ${NAME}
`;

/** The host of configs that the kit creates and that nothing is delivered to: it leads to this machine, also without a network. */
const WEBHOOK_HOST = 'example.com';
const LOOPBACK = { address: '127.0.0.1', family: 4 };

/** The prefix of the messages that the kit wants to be answered with a message, so without a task. */
const ANSWERED = 'tck-message-response';

const NO_MCP: GatewayOptions['mcp'] = {
  names: () => [],
  health: () => ({}),
  probe: (name) => Promise.reject(new FleetError('NOT_FOUND', `there is no MCP server ${name}`)),
  onChange: () => ({ [Symbol.dispose]: () => undefined }),
};

await serve(readPort(process.argv.slice(2)));

function readPort(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: { port: { type: 'string' } } });
  const port = Number(values.port);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new Error('--port must be a port, from 1 to 65535: node test/conformance/sut.ts --port 9999');
}

async function serve(port: number): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const home = mkdtempSync(join(tmpdir(), 'hermes-conformance-'));
  const remove = (): void => rmSync(home, { recursive: true, force: true });
  opened.defer(remove);
  const environment = writeProfile(home, port);
  const log = createLogger({ name: NAME, level: environment.logLevel });
  const problems = createProblems(NAME);
  const { whole } = readMemberConfiguration(environment, createSecretEnv({}), {}, problems);
  if (whole === undefined) throw problems.error();
  const member = openMember(environment, whole, { log, disabled: 'it serves nothing' }, opened);
  if (member === undefined) throw new Error('the profile of the kit is not enabled');
  const { ledger, clock } = member;

  const executor = createConformanceExecutor({
    messageIdOf: (taskId) => String(ledger.get(taskId)?.message.messageId),
    clock,
  });
  const agent: GatewayOptions['agent'] = {
    executor,
    capabilities: () => ({ tools: [] }),
    repoState: async () => ({ branch: '', clean: true }),
    minimumBudget: 0,
  };
  const fleet = createMemberGateway(member, createMemberPeers(member), { agent, mcp: NO_MCP }, opened);
  await serveMember(
    member,
    fleet,
    {
      intake: answering(fleet.gateway, member.ids),
      countCache: false,
      resolvePushHost: async (host) =>
        host === WEBHOOK_HOST ? [LOOPBACK] : await lookup(host, { all: true }),
      readiness: () => readinessFrom({ ledger: storeState(ledger.problem()) }),
      recover: () => fleet.gateway.recover(),
      shutdownSteps: (serving, leave, graceMs) => [
        { name: 'stop tasks', run: () => leaveRotation(serving, leave, graceMs) },
        ...closeConnections(serving),
        { name: 'close the ledger', run: () => closeStores([ledger], serving.ownership) },
        { name: 'remove the state', run: async () => remove() },
      ],
      afterTasksMs: 5_000,
    },
    opened,
  );
}

/** Writes the configuration of the profile below `home` and returns its folders. */
function writeProfile(home: string, port: number) {
  const dir = join(home, 'profiles', NAME);
  mkdirSync(dir, { recursive: true });
  const server = { bind_host: '127.0.0.1', bind_port: port, auth_required: false };
  const push = { allow_internal: ['localhost', '127.0.0.1', WEBHOOK_HOST] };
  writeFileSync(join(dir, 'fleet.yaml'), stringify({ fleet: { tier: 'sonnet', server, push } }));
  writeFileSync(join(dir, 'IDENTITY.md'), IDENTITY);
  return { name: NAME, home, dir, stateDir: join(dir, 'state'), logLevel: process.env.LOG_LEVEL ?? 'warn' };
}

/** An intake that answers some messages at once; the rest is the gateway's. */
function answering(gateway: Intake, ids: { uuid(): string }): Intake {
  return {
    async accept(message, caller) {
      if (!message.messageId.startsWith(ANSWERED)) return await gateway.accept(message, caller);
      const contextId = message.contextId ?? ids.uuid();
      return { kind: 'reply', contextId, text: 'Direct message response' };
    },
    cancel: (taskId, caller) => gateway.cancel(taskId, caller),
  };
}
