import { curlCommand, firstFlightRequest, quote } from './first-flight.ts';

export interface Welcome {
  /** What runs where; `switch` is who takes the first request. */
  readonly addresses: readonly { readonly name: string; readonly url: string }[];
  /** The repository, so that the request works wherever the prompt stands. */
  readonly root: string;
  /** The name of the first task. */
  readonly id: string;
  /** Prints the operator's token; `make token` of this repository by default. */
  readonly tokenCommand?: string;
}

/** What `up` ends with: the addresses, and a request that works when pasted. */
export function renderWelcome(welcome: Welcome): string {
  const width = Math.max(...welcome.addresses.map(({ name }) => name.length));
  const orchestrator = welcome.addresses.find(({ name }) => name === 'switch') ?? welcome.addresses[0];
  const curl = curlCommand({
    url: `${orchestrator?.url}/jsonrpc`,
    tokenCommand: welcome.tokenCommand ?? `make -s -C ${quote(welcome.root)} token`,
    request: firstFlightRequest({ id: welcome.id }),
  });
  return [
    '',
    ...welcome.addresses.map(({ name, url }) => `  ${name.padEnd(width)}  ${url}`),
    '',
    'A first flight, to paste: switch picks a worker, which writes a file and reads it back.',
    '',
    curl,
    '',
    '',
  ].join('\n');
}
