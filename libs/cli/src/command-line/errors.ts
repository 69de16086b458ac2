import { peerErrorCode } from '@hermes-fleet/a2a/client';
import { type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import type { Output, Streams } from './command.ts';
import { serializerOf } from './document.ts';
import { readableReason } from './field-errors.ts';
import { UsageError } from './option-values.ts';
import { printLines, sanitize } from './output.ts';
import { ownCommand } from './own-command.ts';

type Hints = Readonly<Partial<Record<ErrorCode, string>>>;

/** Hints for errors of the fleet whose message does not say what to do. */
const HINTS: Hints = {
  UNAUTHENTICATED:
    'fleet token prints the token of the operator, which FLEET_TOKEN replaces; after keys rotate, restart the services',
  PEER_UNREACHABLE: `${ownCommand('ps')} shows what of the fleet runs, and ${ownCommand('up')} starts it`,
  TASK_NOT_FOUND: 'fleet tasks lists your tasks',
  TASK_NOT_CANCELABLE: 'fleet task <id> shows its result',
};

/** As HINTS, for a worker, whose orchestrator is elsewhere. */
const JOIN_HINTS: Hints = {
  UNAUTHENTICATED: 'fleet join-token create, at the orchestrator, makes a join token',
};

/** As HINTS, for an agent that `options` name. */
const agentHints = (options: string): Hints => ({
  UNAUTHENTICATED: '--token-env names the variable with a bearer token that the agent accepts',
  TASK_NOT_CANCELABLE: `fleet task <id>${options} shows its result`,
});

function hintsOf(command: string, agent: string | undefined): Hints {
  if (agent !== undefined) return agentHints(agent);
  return command === 'fleet join' || command === 'fleet leave' ? JOIN_HINTS : HINTS;
}

/**
 * Prints why a command ended: `name` is its words, such as `fleet trader audit`, and `agent` the options that name the agent that it
 * asked (`agentOptions`), undefined for the fleet. Returns its exit code: 2 for a UsageError, else 1. Text goes to stderr, one line and one
 * more per invalid field and hint. With JSON or YAML the error is the only document on stdout
 * (docs/cli.md#errors).
 */
export async function reportError(
  thrown: unknown,
  { name, agent }: { readonly name: string; readonly agent: string | undefined },
  output: Output,
  { stdout, stderr }: Pick<Streams, 'stdout' | 'stderr'>,
): Promise<number> {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const isUsage = error instanceof UsageError;
  const fields = error instanceof FleetError ? error.fields : [];
  const known = error instanceof FleetError ? (peerErrorCode(error) ?? error.code) : undefined;
  const code = isUsage ? 'USAGE' : (known ?? 'INTERNAL');
  const hint = isUsage ? `${name} --help` : known && hintsOf(name, agent)[known];
  if (output !== 'text') {
    const found = { code, message: error.message, hint: hint ?? null, fields };
    const serialize = await serializerOf(output);
    stdout.write(serialize({ error: found }));
    return isUsage ? 2 : 1;
  }
  // A foreign message stays on one line, so that it cannot look like more of this output.
  const isForeign = error instanceof FleetError && error.code === 'PEER_REFUSED';
  const message = isForeign ? sanitize(error.message) : error.message;
  const lines = [
    ...message.split('\n').map((line, at) => (at === 0 ? `fleet: ${line}` : line)),
    ...fields
      .filter(({ path, reason }) => !(message.includes(path) && message.includes(reason)))
      .map(({ path, reason }) => `  ${path}: ${readableReason(reason)}`),
    ...(hint === undefined ? [] : [`hint: ${hint}`]),
  ];
  printLines(stderr, lines);
  return isUsage ? 2 : 1;
}
