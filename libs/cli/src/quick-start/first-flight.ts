import { readFileSync } from 'node:fs';
import { asset } from '@hermes-fleet/installation';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { quote } from '../command-line/option-values.ts';
import { ownCommand } from '../command-line/own-command.ts';

/** The first request that a new user sends. `up` prints a command that sends it; the demo sends it under ids of its own. */
const TEMPLATE = asset('first-flight.json');
const PLACEHOLDER = 'first-flight';

/**
 * The parameters of a JSON-RPC request that dispatches a task to `auto`: write a file and run two commands. `id` becomes the task
 * id and the message id, so every id makes a new task. `changed` replaces fields by their name, wherever they are.
 */
export function firstFlight(id: string, changed: JsonObject = {}): JsonObject {
  const { params } = JSON.parse(readFileSync(TEMPLATE, 'utf8'), (key, value) =>
    value === PLACEHOLDER ? id : (changed[key] ?? value),
  );
  if (isJsonObject(params)) return params;
  throw new TypeError('first-flight.json must hold a request with params');
}

/**
 * A `curl` command for a POSIX shell that sends the first request, on one line, so that it can be pasted from a log that
 * begins each line with a name. `tokenCommand` is a shell command that prints the token, and `request` the file of the request
 * as the shell sees it. The request always has the same task id: sent again, it answers with the same task.
 */
export const curlCommand = (url: string, tokenCommand: string, request: string): string =>
  `curl -sS ${quote(url)} -H "Authorization: Bearer $(${tokenCommand})" -H 'Content-Type: application/json' -d ${quote(`@${request}`)}`;

export interface Welcome {
  /** Every service and its URL; `switch` takes the first request. */
  readonly addresses: readonly { readonly name: string; readonly url: string }[];
  /** The file with the first request, as the shell of the user sees it. */
  readonly request: string;
  /** A shell command that prints the operator's token. */
  readonly tokenCommand: string;
  /** A link that opens the console once. */
  readonly consoleLink?: string | undefined;
}

/** The last lines of `up`: the addresses, and a request to paste. */
export function renderWelcome({ addresses, request, tokenCommand, consoleLink }: Welcome): string {
  const width = Math.max(...addresses.map(({ name }) => name.length));
  const orchestrator = addresses.find(({ name }) => name === 'switch') ?? addresses[0];
  return [
    '',
    ...addresses.map(({ name, url }) => `  ${name.padEnd(width)}  ${url}`),
    '',
    ...(consoleLink === undefined
      ? []
      : [
          `The fleet in a browser. The link works once, within five minutes; ${ownCommand('console')} prints another:`,
          '',
          `  ${consoleLink}`,
          '',
        ]),
    'A first task, to paste: switch picks a worker, which writes a file and reads it back.',
    '',
    curlCommand(`${orchestrator?.url}/jsonrpc`, tokenCommand, request),
    '',
    '',
  ].join('\n');
}
