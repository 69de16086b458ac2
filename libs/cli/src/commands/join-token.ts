import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import type { Read } from '@hermes-fleet/net/api';
import { definedFields, type JsonValue } from '@hermes-fleet/protocol';
import { JOINING } from '@hermes-fleet/protocol/api';
import { fleetApi } from '../client/api.ts';
import { command, type Values } from '../command-line/command.ts';
import { durationMs, oneArgument, UsageError } from '../command-line/option-values.ts';
import { table } from '../command-line/output.ts';
import {
  joinTokenCreateUsage,
  joinTokenListUsage,
  joinTokenRevokeUsage,
  workersListUsage,
  workersRevokeUsage,
} from '../command-specs/workers.ts';
import { findProfile } from '../running/running-fleet.ts';

const create = command(joinTokenCreateUsage, async ({ values, env, show }) => {
  const expires = durationMs('expires', values.expires, 15 * 60_000);
  const path = values['token-file'];
  const target = await findProfile(values, env);
  const body = definedFields<JsonValue>({
    name: values.name,
    expires_s: Math.round(expires / 1000),
    tier: values.tier,
    endpoints: values.endpoint && [...values.endpoint],
    scopes: values.scope && [...values.scope],
  });
  const make = () => fleetApi().call(target, JOINING.createToken, { body });
  const { token, ...made } = path === undefined ? await make() : await intoNewFile(path, make);
  show(path === undefined ? { ...made, token } : made, () => [
    ...(path === undefined ? [token, ''] : []),
    ...describe(made, values, target.shown),
  ]);
});

type Created = Read<typeof JOINING.createToken>;

/** Writes the token of the answer into a new file, which is opened before the token is made: nobody could read it later. */
async function intoNewFile(path: string, make: () => Promise<Created>): Promise<Created> {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (cause) {
    throw new UsageError(`--token-file ${path} must be a new file in a folder that exists`, { cause });
  }
  try {
    const made = await make();
    writeSync(file, `${made.token}\n`);
    return made;
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

function describe(
  { name, expires_at }: Pick<Created, 'name' | 'expires_at'>,
  values: Values<typeof joinTokenCreateUsage.options>,
  url: string,
): string[] {
  const { address = url, 'token-file': file = 'token' } = values;
  return [
    `It joins one worker as ${name}, until ${expires_at}. It is not shown again.`,
    'On the other machine, with the token in a file:',
    '',
    `  fleet join ${address} --token-file ${file}${name.includes('*') ? ' --name <name>' : ''}`,
  ];
}

const list = command(joinTokenListUsage, async ({ values, env, show }) => {
  const target = await findProfile(values, env);
  show(await fleetApi().call(target, JOINING.tokens), ({ join_tokens: tokens }) =>
    table(
      ['id', 'name', 'state', 'expires', 'used by', 'endpoints'],
      tokens.map((each) => [
        ...[each.id, each.name, each.state, each.expires_at, each.used_by],
        each.endpoints.join(', '),
      ]),
      'there is no join token',
    ),
  );
});

const revokeToken = command(joinTokenRevokeUsage, async ({ values, positionals, env, show }) => {
  const id = oneArgument(positionals, 'join-token revoke needs the id of a join token');
  const target = await findProfile(values, env);
  show(await fleetApi().call(target, JOINING.revokeToken, { params: { id } }), () => [`${id} is revoked`]);
});

const workers = command(workersListUsage, async ({ values, env, show }) => {
  const target = await findProfile(values, env);
  show(await fleetApi().call(target, JOINING.workers), ({ workers: joined }) =>
    table(
      ['worker', 'state', 'peer', 'tasks', 'joined', 'address'],
      joined.map((each) => [
        ...[each.name, each.state, each.peer, each.tasks, each.joined_at, each.endpoint],
      ]),
      'no worker has joined with a join token',
    ),
  );
});

const revokeWorker = command(workersRevokeUsage, async ({ values, positionals, env, show }) => {
  const id = oneArgument(positionals, 'workers revoke needs the name of a worker');
  const target = await findProfile(values, env);
  show(await fleetApi().call(target, JOINING.revokeWorker, { params: { id } }), ({ tasks }) => [
    `${id} is revoked${tasks > 0 ? `; ${tasks} tasks that it had end as peer_unreachable` : ''}`,
  ]);
});

/** `fleet join-token create|list|revoke` and `fleet workers list|revoke` (docs/peering.md#joining). */
export const commands = [create, list, revokeToken, workers, revokeWorker];
