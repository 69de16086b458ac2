import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Read } from '@hermes-fleet/net/api';
import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE as ROUTES } from '@hermes-fleet/protocol/api';
import { createSecretEnv } from '@hermes-fleet/service';
import { fleetApi, type Target } from '../client/api.ts';
import { command } from '../command-line/command.ts';
import { httpUrl, UsageError } from '../command-line/option-values.ts';
import { table } from '../command-line/output.ts';
import { consoleUsage } from '../command-specs/fleet.ts';
import { consoleOf, newLink, seenHeads } from '../console/client.ts';
import { linkOfContainer } from '../containers/console-link.ts';
import { runInside, wordsOf } from '../containers/inside.ts';
import { CONSOLE } from '../keys/layout.ts';
import { fleetInContainers, plannedFleet } from '../running/running-fleet.ts';

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
    if (address !== undefined) httpUrl('--address', address);
    const showLink = async (link: { readonly url: string; readonly expires_at: string }): Promise<void> => {
      show(link, () => [link.url]);
      if (print || stdout.isTTY !== true) return;
      stderr.write('The link works once, within five minutes.\n');
      if (!values['no-open']) await openInBrowser(link.url, env);
    };
    const containers = await fleetInContainers(values, env);
    if (containers && verb !== undefined) {
      const words = ['console', verb, '--as-is', ...wordsOf(values)];
      return await runInside(containers, env, CONSOLE, words);
    }
    if (containers) {
      await showLink(await linkOfContainer(containers, env, address));
      return 0;
    }
    const target = values['as-is'] ? consoleHere(env) : consoleOf(plannedFleet(values));
    if (verb === 'rebuild') {
      const { reaches_back_to } = await fleetApi().call(target, ROUTES.rebuild);
      show({ reaches_back_to }, renderRebuild);
    } else if (verb === 'heads') show(await seenHeads(target), renderHeads);
    else await showLink(await newLink(target, address));
    return 0;
  },
);

export const commands = [consoleCommand];

const renderHeads = ({ heads }: Read<typeof ROUTES.auditHeads>): string[] =>
  table(
    ['service', 'record', 'at', 'hash', 'file'],
    heads.map(({ service, seq, at, hash, store }) => [service, seq, at, hash, store]),
    'the console has seen no head of an audit',
  );

type Rebuilt = Pick<Read<typeof ROUTES.rebuild>, 'reaches_back_to'>;

const renderRebuild = ({ reaches_back_to: oldest }: Rebuilt): string[] => [
  oldest === null
    ? 'the read model is made again; the streams have no event of a task'
    : `the read model is made again; it reaches back to ${oldest}, the oldest event that the streams have`,
];

/** The console in whose environment this process runs. Throws CONFIG_INVALID without its secret. */
function consoleHere(env: NodeJS.ProcessEnv): Target {
  const token = createSecretEnv(env).read('CONSOLE_LOGIN');
  if (token === undefined)
    throw new FleetError(
      'CONFIG_INVALID',
      'CONSOLE_LOGIN is not set: --as-is needs the environment of the console',
    );
  const url = `http://${env.CONSOLE_HOST || '127.0.0.1'}:${env.CONSOLE_PORT || DEFAULT_PORT}`;
  return { name: CONSOLE, url, token };
}

/**
 * Opens a link in the browser of the desktop: `open` on macOS, else `xdg-open` where there is a display. Resolves with false
 * where neither is there or it fails; resolves once the program has ended or has run for `waitMs`.
 */
export async function openInBrowser(
  link: string,
  env: NodeJS.ProcessEnv,
  { platform = process.platform, waitMs = 5_000 }: { platform?: NodeJS.Platform; waitMs?: number } = {},
): Promise<boolean> {
  // Without a display, xdg-open would start a browser in the terminal.
  const program =
    platform === 'darwin' ? 'open' : env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : undefined;
  if (program === undefined) return false;
  const child = spawn(program, [link], { env, stdio: 'ignore', detached: true });
  try {
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(waitMs) });
    return code === 0;
  } catch (error) {
    child.unref();
    return error instanceof Error && error.name === 'AbortError';
  }
}
