import type { Read } from '@hermes-fleet/net/api';
import { FleetError } from '@hermes-fleet/protocol';
import type { CONSOLE } from '@hermes-fleet/protocol/api';
import { createSecretEnv } from '@hermes-fleet/service';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/options.ts';
import { columns } from '../command-line/output.ts';
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
const consoleCommand = command(
  consoleUsage,
  async ({ values, positionals, env, stdout, stderr, print, show }) => {
    const [verb, ...rest] = positionals;
    if (rest.length > 0 || (verb !== undefined && verb !== 'rebuild' && verb !== 'heads'))
      throw new UsageError(`console takes no "${positionals.join(' ')}", only rebuild or heads`);
    const { address } = values;
    if (address !== undefined && !/^https?:\/\/[^/]/.test(address))
      throw new UsageError(`--address must be an http or https address, not "${address}"`);
    const target = values['as-is'] ? consoleHere(env) : consoleOf(plannedFleet(values));
    if (verb === 'rebuild') {
      const { reaches_back_to } = await rebuild(target);
      show({ reaches_back_to }, renderRebuild);
      return 0;
    }
    if (verb === 'heads') {
      show(await seenHeads(target), renderHeads);
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

export const commands = [consoleCommand];

const renderHeads = ({ heads }: Read<typeof CONSOLE.auditHeads>): string[] =>
  heads.length === 0
    ? ['the console has seen no head of an audit']
    : columns(
        ['service', 'record', 'at', 'hash', 'file'],
        heads.map(({ service, seq, at, hash, store }) => [service, seq, at, hash, store]),
      );

const renderRebuild = ({
  reaches_back_to: oldest,
}: {
  readonly reaches_back_to: string | null;
}): string[] => [
  oldest === null
    ? 'the read model is made again; the streams have no event of a task'
    : `the read model is made again; it reaches back to ${oldest}, the oldest event that the streams have`,
];

/** The console of a planned fleet. Throws PEER_UNREACHABLE without its keys. */
export function consoleOf(plan: FleetPlan): ConsoleTarget {
  const token = readSecret(keyPaths(plan.keysDir).consoleLogin);
  if (token !== undefined) return { url: plan.console.url, token };
  throw new FleetError(
    'PEER_UNREACHABLE',
    `no console runs (it has no keys in ${plan.keysDir}): make up first`,
  );
}

/** The console in whose environment this process runs. Throws CONFIG_INVALID without its secret. */
function consoleHere(env: NodeJS.ProcessEnv): ConsoleTarget {
  const token = createSecretEnv(env).read('CONSOLE_LOGIN');
  if (token === undefined)
    throw new FleetError(
      'CONFIG_INVALID',
      'CONSOLE_LOGIN is not set: --as-is needs the environment of the console',
    );
  return { url: `http://${env.CONSOLE_HOST || '127.0.0.1'}:${env.CONSOLE_PORT || DEFAULT_PORT}`, token };
}
