import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { ask } from '../ask/ask.ts';
import { renderConsidered, renderVerdict } from '../route/render.ts';
import { DISPATCH_OPTIONS, describesDispatch, dispatchOf } from './dispatch-options.ts';
import { readOptions, UsageError } from './options.ts';
import { FLEET_OPTIONS, findProfile, orNoFleet, printJson, printLines, readInput } from './running-fleet.ts';

const BLOCKED = 3;

/**
 * `fleet route`: where a dispatch would go at this moment; `--explain` prints every peer that was considered, and why.
 * Nothing is sent to anybody and nothing is spent. Exit code 3 when nobody can take it.
 */
export async function routeCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    ...FLEET_OPTIONS,
    ...DISPATCH_OPTIONS,
    file: { type: 'string' },
    explain: { type: 'boolean' },
  });
  if (positionals.length > 0) throw new UsageError(`route takes no "${positionals.join(' ')}"`);
  if (values.file !== undefined && describesDispatch(values))
    throw new UsageError('--file holds the whole dispatch: leave out the options that describe one');
  const described = values.file === undefined ? dispatchOf(values) : undefined;
  return orNoFleet(async () => {
    const { caller, input } = findProfile(values);
    const dispatch = described ?? readDispatch(values.file ?? '', input);
    const decision = await ask(caller, '/fleet/route', dispatch);
    if (values.json) printJson(decision);
    else printLines([...(values.explain ? renderConsidered(decision) : []), ...renderVerdict(decision)]);
    return typeof decision.chosen === 'string' ? 0 : BLOCKED;
  });
}

/** The dispatch in a file; `-` is stdin, after the token where that comes first. */
function readDispatch(file: string, input: string | undefined): JsonObject {
  const wrong = (reason: string, cause: unknown): FleetError =>
    new FleetError('INVALID_PARAMS', `${file} ${reason}`, { cause });
  const text = readInput(file, input, 'a TASK_DISPATCH');
  let dispatch: unknown;
  try {
    dispatch = JSON.parse(text);
  } catch (cause) {
    throw wrong('is not JSON: it must hold one TASK_DISPATCH', cause);
  }
  if (!isJsonObject(dispatch)) throw wrong('must hold one TASK_DISPATCH, as a JSON object', undefined);
  return dispatch;
}
