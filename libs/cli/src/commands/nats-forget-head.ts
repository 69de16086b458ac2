import { type ForgetOutcome, type FoundHead, forgetHead } from '@hermes-fleet/events';
import { setupConnectionIn, setupConnectionOf } from '../keys/setup-user.ts';
import { plain } from '../table.ts';
import { readOptions, UsageError } from './options.ts';
import { plannedFleet, printJson, printLines } from './running-fleet.ts';

const TIMEOUT_MS = 10_000;

/**
 * `fleet nats forget-head <service>`: shows the head that NATS holds of a service's audit, and removes it, for an audit
 * that was put back on purpose. `--as-is` takes server and keys from the environment of this process, as inside the
 * container of the set-up user; else it is the fleet of plain processes in `--dir`. Exit code 0 when NATS holds no head
 * now, 1 when another one came in between.
 */
export async function forgetHeadCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    'as-is': { type: 'boolean' },
    server: { type: 'string' },
    dir: { type: 'string' },
    'port-offset': { type: 'string' },
    json: { type: 'boolean' },
  });
  const [service, ...more] = positionals;
  if (service === undefined || more.length > 0)
    throw new UsageError('nats forget-head takes the name of one service');
  if (values.server !== undefined && !values['as-is'])
    throw new UsageError('--server is for --as-is: else it is that of the fleet in --dir');
  const connection = values['as-is']
    ? setupConnectionOf(env, values.server)
    : setupConnectionIn(plannedFleet(values));
  let found: FoundHead | undefined;
  const outcome = await forgetHead({
    connection,
    service,
    timeoutMs: TIMEOUT_MS,
    onFound: (it) => {
      found = it;
      const lines = renderFound(service, it);
      // Before it is gone, also where the answer is one object for a program.
      if (values.json) for (const line of lines) console.error(plain(line));
      else printLines(lines);
    },
  });
  if (values.json) printJson({ service, outcome, ...wireOf(found) });
  else printLines([SAYS[outcome](service)]);
  return outcome === 'replaced' ? 1 : 0;
}

const SAYS: Readonly<Record<ForgetOutcome, (service: string) => string>> = {
  forgotten: (service) =>
    `forgotten: ${service} publishes the head of the audit that it has at its next start`,
  none: (service) => `NATS holds no head of the audit of ${service}: there is nothing to forget`,
  replaced: (service) => `not forgotten: ${service} published another head meanwhile, which is left`,
};

function renderFound(service: string, { head, storedAt, bytes }: FoundHead): string[] {
  return [
    `what NATS holds as the head of the audit of ${service}`,
    ...(head
      ? [`  record     ${head.seq}, ${head.hash}`, `  file       ${head.store}`]
      : [`  no head: ${bytes} bytes of something else`]),
    `  published  ${storedAt}`,
  ];
}

const wireOf = (found: FoundHead | undefined) =>
  found ? { head: found.head ? { ...found.head } : null, stored_at: found.storedAt, bytes: found.bytes } : {};
