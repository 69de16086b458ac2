import { createClient } from '@hermes-fleet/net';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { ownTls } from '../client/tls.ts';
import { command } from '../command-line/command.ts';
import { httpUrl, UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { mcpUsage } from '../command-specs/fleet.ts';
import { findProfile } from '../running/running-fleet.ts';

/**
 * `fleet mcp`: serves the fleet's MCP server over standard input and output, for clients that start a process
 * (docs/mcp.md#over-stdio). It calls a profile of the fleet as the operator, or `--url` with the token in the variable that
 * `--token-env` names. Returns when the input has ended: 0, or 1 if a request stayed without an answer.
 */
const mcpCommand = command(mcpUsage, async ({ values, env, stdin, stdout, stderr }) => {
  const { url, token } = values.url === undefined ? await findProfile(values, env) : named(values, env);
  // The SDK is loaded for this command only.
  const { forwardStdio } = await import('@hermes-fleet/mcp/server');
  const isDone = await forwardStdio({
    url: new URL('/mcp', url).href,
    token,
    input: stdin(),
    output: stdout,
    clock: systemClock,
    fetch: createClient('configured', { tls: ownTls(), redirects: 'returned' }),
    onError: (message) => printLines(stderr, [`fleet: ${message}`]),
  });
  return isDone ? 0 : 1;
});

export const commands = [mcpCommand];

function named(
  values: { readonly url?: string | undefined; readonly 'token-env'?: string | undefined },
  env: NodeJS.ProcessEnv,
): { url: string; token: string } {
  const { url = '', 'token-env': name } = values;
  httpUrl('--url', url);
  if (name === undefined)
    throw new UsageError('--url needs --token-env, the name of a variable with a token');
  const token = env[name];
  if (token === undefined || token === '')
    throw new FleetError(
      'CONFIG_INVALID',
      `the variable ${name} of --token-env is not set; put the token there`,
    );
  return { url, token };
}
