import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import type { JsonObject } from '@hermes-fleet/protocol';
import { objectsAt, textAt, textsAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { type Command, command, type Invocation } from '../command-line/command.ts';
import { definedFields, noArguments, UsageError } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { findProfile, requireFleet } from '../command-line/running-fleet.ts';
import { durationMs } from '../join/duration.ts';
import {
  joinTokenCreateUsage,
  joinTokenListUsage,
  joinTokenRevokeUsage,
  workersListUsage,
  workersRevokeUsage,
} from '../usage/workers.ts';

const create = command(joinTokenCreateUsage, async ({ values, positionals, stdin, stdout, print }) => {
  noArguments('join-token create', positionals);
  const expires = durationMs('expires', values.expires, 15 * 60_000);
  const path = values['token-file'];
  return requireFleet(async () => {
    const { target } = await findProfile(values, stdin);
    const body = definedFields({
      name: values.name,
      expires_s: Math.round(expires / 1000),
      tier: values.tier,
      endpoints: values.endpoint && [...values.endpoint],
      scopes: values.scope && [...values.scope],
    });
    const make = () => callApi(target, '/fleet/join-tokens', body);
    const { token, ...made } = path === undefined ? await make() : await intoNewFile(path, make);
    if (print) print(path === undefined ? { ...made, token } : made);
    else
      printLines(stdout, describe(made, path === undefined ? String(token) : undefined, values, target.url));
    return 0;
  });
});

/** Writes the token of the answer into a new file, which is opened before the token is made: nobody could read it later. */
async function intoNewFile(path: string, make: () => Promise<JsonObject>): Promise<JsonObject> {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (cause) {
    throw new UsageError(`--token-file ${path} must be a new file in a folder that exists`, { cause });
  }
  try {
    const made = await make();
    writeSync(file, `${String(made.token)}\n`);
    return made;
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

function describe(
  made: JsonObject,
  token: string | undefined,
  values: { readonly address?: string | undefined; readonly 'token-file'?: string | undefined },
  url: string,
): string[] {
  const address = values.address ?? url;
  const name = textAt(made, 'name');
  return [
    ...(token === undefined ? [] : [token, '']),
    `It joins one worker as ${name}, until ${textAt(made, 'expires_at')}. It is not shown again.`,
    'On the other machine, with the token in a file:',
    '',
    `  fleet join ${address} --token-file ${values['token-file'] ?? 'token'}${name.includes('*') ? ' --name <name>' : ''}`,
  ];
}

const list = command(joinTokenListUsage, ({ values, positionals, stdin, stdout, print }) => {
  noArguments('join-token list', positionals);
  return requireFleet(async () => {
    const answer = await callApi((await findProfile(values, stdin)).target, '/fleet/join-tokens');
    const rows = objectsAt(answer, 'join_tokens');
    if (print) print(answer);
    else
      printLines(
        stdout,
        rows.length === 0 ? ['there is no join token'] : columns(TOKEN_HEAD, rows.map(tokenRow)),
      );
    return 0;
  });
});

const TOKEN_HEAD = ['id', 'name', 'state', 'expires', 'used by', 'endpoints'];
const tokenRow = (each: JsonObject): string[] => [
  ...['id', 'name', 'state', 'expires_at', 'used_by'].map((key) => textAt(each, key)),
  textsAt(each, 'endpoints').join(', '),
];

const revokeToken = command(joinTokenRevokeUsage, (invocation) =>
  remove(
    '/fleet/join-tokens',
    only('join-token revoke', invocation.positionals, 'the id of a join token'),
    invocation,
  ),
);

const workers = command(workersListUsage, ({ values, positionals, stdin, stdout, print }) => {
  noArguments('workers list', positionals);
  return requireFleet(async () => {
    const answer = await callApi((await findProfile(values, stdin)).target, '/fleet/workers');
    const rows = objectsAt(answer, 'workers');
    if (print) print(answer);
    else
      printLines(
        stdout,
        rows.length === 0
          ? ['no worker has joined with a join token']
          : columns(
              WORKER_HEAD,
              rows.map((each) => WORKER_KEYS.map((key) => textAt(each, key))),
            ),
      );
    return 0;
  });
});

const WORKER_HEAD = ['worker', 'state', 'peer', 'tasks', 'joined', 'address'];
const WORKER_KEYS = ['name', 'state', 'peer', 'tasks', 'joined_at', 'endpoint'];

const revokeWorker = command(workersRevokeUsage, (invocation) =>
  remove(
    '/fleet/workers',
    only('workers revoke', invocation.positionals, 'the name of a worker'),
    invocation,
  ),
);

function only(name: string, [word, ...rest]: readonly string[], wanted: string): string {
  if (word === undefined) throw new UsageError(`${name} needs ${wanted}`);
  noArguments(name, rest);
  return word;
}

function remove(
  path: string,
  word: string,
  { values, stdin, stdout, print }: Invocation<typeof workersRevokeUsage.options>,
): Promise<number> {
  return requireFleet(async () => {
    const { target } = await findProfile(values, stdin);
    const answer = await callApi(target, `${path}/${encodeURIComponent(word)}`, undefined, 'DELETE');
    if (print) print(answer);
    else {
      const tasks = Number(answer.tasks ?? 0);
      printLines(stdout, [
        `${word} is revoked${tasks > 0 ? `; ${tasks} tasks that it had end as peer_unreachable` : ''}`,
      ]);
    }
    return 0;
  });
}

/** `fleet join-token create|list|revoke` and `fleet workers list|revoke` (docs/peering.md#joining). */
export const joinTokenCommands: readonly Command[] = [create, list, revokeToken];
export const workersCommands: readonly Command[] = [workers, revokeWorker];
