import { randomUUID } from 'node:crypto';
import { systemClock } from '@hermes-fleet/protocol';
import { namedAddress, readOptions, repositoryRoot, UsageError } from '../command-line/options.ts';
import { waitUntilSettled } from '../quick-start/settled.ts';
import { renderWelcome } from '../quick-start/welcome.ts';

/** `fleet first-flight`: where the fleet is, and a first request to paste. */
export async function firstFlightCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    address: { type: 'string', multiple: true },
    root: { type: 'string' },
    'token-command': { type: 'string' },
    id: { type: 'string' },
    settle: { type: 'string' },
  });
  if (positionals.length > 0) throw new UsageError(`first-flight takes no "${positionals.join(' ')}"`);
  const addresses = (values.address ?? []).map((text) => namedAddress('address', text));
  if (values.settle !== undefined) await settle(values.settle);
  process.stdout.write(
    renderWelcome({
      addresses: addresses.length > 0 ? addresses : [{ name: 'switch', url: 'http://127.0.0.1:9219' }],
      root: values.root ?? repositoryRoot(),
      id: values.id ?? `first-flight-${randomUUID().slice(0, 8)}`,
      ...(values['token-command'] === undefined ? {} : { tokenCommand: values['token-command'] }),
    }),
  );
  return 0;
}

const SETTLE_MS = 15_000;

/** Gives the peers a moment to announce themselves to the profile at this address; says who stayed silent. */
export async function settle(url: string): Promise<void> {
  const silent = await waitUntilSettled({ url, deadlineMs: SETTLE_MS, clock: systemClock });
  if (silent.length > 0) console.error(`not heard of yet at ${url}: ${silent.join(', ')}`);
}
