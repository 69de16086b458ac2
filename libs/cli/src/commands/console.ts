import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { createSecretEnv } from '@hermes-fleet/service';
import { objectsAt, textAt } from '../client/fields.ts';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { openInBrowser } from '../console/browser.ts';
import { type ConsoleTarget, newLink, rebuild, seenHeads } from '../console/client.ts';
import { keyPaths } from '../keys/layout.ts';
import { readSecret } from '../keys/secret-file.ts';
import type { FleetPlan } from '../local/plan.ts';
import { consoleUsage } from '../usage/fleet.ts';

const DEFAULT_PORT = 9224;

/**
 * `fleet console`: prints a link that opens the console once, and opens it where a person has a desktop. `fleet console
 * rebuild` makes its read model again from the streams, and `fleet console heads` prints the audit heads that it has seen
 * (docs/console.md).
 */
export const consoleCommand = command(
  consoleUsage,
  async ({ values, positionals, env, stdout, stderr, print }) => {
    const [verb, ...rest] = positionals;
    if (rest.length > 0 || (verb !== undefined && verb !== 'rebuild' && verb !== 'heads'))
      throw new UsageError(`console takes no "${positionals.join(' ')}", only rebuild or heads`);
    const { address } = values;
    if (address !== undefined && !/^https?:\/\/[^/]/.test(address))
      throw new UsageError(`--address must be an http or https address, not "${address}"`);
    const target = values['as-is'] ? consoleHere(env) : consoleOf(plannedFleet(values));
    if (verb === 'rebuild') {
      const answer = await rebuild(target);
      if (print) print(answer);
      else stdout.write(`${describeRebuild(answer.reaches_back_to)}\n`);
      return 0;
    }
    if (verb === 'heads') {
      const seen = await seenHeads(target);
      if (print) print(seen);
      else printLines(stdout, renderHeads(seen));
      return 0;
    }
    const link = await newLink(target, address);
    if (print) {
      print(link);
      return 0;
    }
    stdout.write(`${link.url}\n`);
    if (stdout.isTTY !== true) return 0;
    stderr.write('The link works once, within five minutes.\n');
    if (!values['no-open']) await openInBrowser(link.url, env);
    return 0;
  },
);

function renderHeads(seen: JsonObject): string[] {
  const keys = ['service', 'seq', 'at', 'hash', 'store'];
  const rows = objectsAt(seen, 'heads').map((head) => keys.map((key) => textAt(head, key)));
  return rows.length === 0
    ? ['the console has seen no head of an audit']
    : columns(['service', 'record', 'at', 'hash', 'file'], rows);
}

const describeRebuild = (oldest: string | null): string =>
  oldest === null
    ? 'the read model is made again; the streams have no event of a task'
    : `the read model is made again; it reaches back to ${oldest}, the oldest event that the streams have`;

/** The console of a planned fleet. Throws PEER_UNREACHABLE without its keys. */
export function consoleOf(plan: FleetPlan): ConsoleTarget {
  const login = readSecret(keyPaths(plan.keysDir).consoleLogin);
  if (login !== undefined) return { url: plan.console.url, login };
  throw new FleetError(
    'PEER_UNREACHABLE',
    `no console runs (it has no keys in ${plan.keysDir}): make up first`,
  );
}

/** The console in whose environment this process runs. Throws CONFIG_INVALID without its secret. */
function consoleHere(env: NodeJS.ProcessEnv): ConsoleTarget {
  const login = createSecretEnv(env).read('CONSOLE_LOGIN');
  if (login === undefined)
    throw new FleetError(
      'CONFIG_INVALID',
      'CONSOLE_LOGIN is not set: --as-is needs the environment of the console',
    );
  return { url: `http://${env.CONSOLE_HOST || '127.0.0.1'}:${env.CONSOLE_PORT || DEFAULT_PORT}`, login };
}
