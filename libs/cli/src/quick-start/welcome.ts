import { quote } from '../command-line/options.ts';
import { curlCommand } from './first-flight.ts';

export interface Welcome {
  /** Every service and its URL; `switch` takes the first request. */
  readonly addresses: readonly { readonly name: string; readonly url: string }[];
  /** The repository's root, so that the request works in any working directory. */
  readonly root: string;
  /** A shell command that prints the operator's token; `make token` in `root` by default. */
  readonly tokenCommand?: string;
  /** A link that opens the console once. */
  readonly consoleLink?: string;
}

/** The last lines of `up`: the addresses, and a request to paste. */
export function renderWelcome(welcome: Welcome): string {
  const width = Math.max(...welcome.addresses.map(({ name }) => name.length));
  const orchestrator = welcome.addresses.find(({ name }) => name === 'switch') ?? welcome.addresses[0];
  const curl = curlCommand({
    url: `${orchestrator?.url}/jsonrpc`,
    tokenCommand: welcome.tokenCommand ?? `make -s -C ${quote(welcome.root)} token`,
    root: welcome.root,
  });
  return [
    '',
    ...welcome.addresses.map(({ name, url }) => `  ${name.padEnd(width)}  ${url}`),
    '',
    ...(welcome.consoleLink === undefined
      ? []
      : [
          'The fleet in a browser. The link works once, within five minutes; make console prints another:',
          '',
          `  ${welcome.consoleLink}`,
          '',
        ]),
    'A first task, to paste: switch picks a worker, which writes a file and reads it back.',
    '',
    curl,
    '',
    '',
  ].join('\n');
}
