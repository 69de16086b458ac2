import type { Writable } from 'node:stream';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { command } from '../command-line/command.ts';
import { namedAddress, quote } from '../command-line/option-values.ts';
import { firstFlightUsage } from '../command-specs/processes.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { renderWelcome } from '../quick-start/first-flight.ts';
import { waitUntilSettled } from '../quick-start/settled.ts';

/** `fleet first-flight`: prints the fleet's addresses and a first request to paste. */
const firstFlightCommand = command(firstFlightUsage, async ({ values, stdout, stderr }) => {
  const addresses = (values.address ?? []).map((text) => namedAddress('address', text));
  if (values.settle !== undefined) await settle(values.settle, stderr);
  const root = values.root ?? (values.request === undefined ? currentFolder().root : '.');
  stdout.write(
    renderWelcome({
      addresses: addresses.length > 0 ? addresses : [{ name: 'switch', url: 'http://127.0.0.1:9219' }],
      request: values.request ?? `${root}/deploy/first-flight.json`,
      consoleLink: values.console,
      tokenCommand: values['token-command'] ?? `make -s -C ${quote(root)} token`,
    }),
  );
});

export const commands = [firstFlightCommand];

const SETTLE_MS = 15_000;

/** Waits up to 15 s until the profile at `url` has heard from its peers, and prints which ones are still silent. */
export async function settle(url: string, stderr: Writable): Promise<void> {
  const silent = await waitUntilSettled(url, SETTLE_MS, systemClock);
  if (silent.length > 0) stderr.write(`${url} has not heard from these peers yet: ${silent.join(', ')}\n`);
}
