import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { objectsAt, textAt, textsAt } from '../client/fields.ts';
import { ask } from '../client/http.ts';
import { DISPATCH_OPTIONS, describesDispatch, dispatchOf } from '../command-line/dispatch-options.ts';
import { readOptions, UsageError } from '../command-line/options.ts';
import { columns, printJson, printLines } from '../command-line/output.ts';
import { FLEET_OPTIONS, findProfile, orNoFleet, readInput } from '../command-line/running-fleet.ts';

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

/** The table of a routing decision: who was considered, the verdict, the score, and why. */
function renderConsidered(decision: JsonObject): string[] {
  const rows = objectsAt(decision, 'considered').map((each) => [
    textAt(each, 'peer'),
    textAt(each, 'verdict'),
    textAt(each, 'verdict') === 'excluded' ? '-' : textAt(each, 'score'),
    textsAt(each, 'reasons').join('; '),
  ]);
  return rows.length === 0 ? [] : [...columns(['peer', 'verdict', 'score', 'reasons'], rows), ''];
}

/** Where it goes, or everything that stands in the way and whether waiting can help. */
function renderVerdict(decision: JsonObject): string[] {
  if (typeof decision.chosen === 'string') return [`goes to ${decision.chosen}`];
  const unmet = objectsAt(decision, 'unmet');
  const reasons = unmet.map((each) => `  ${textAt(each, 'kind')}: ${textAt(each, 'detail')}`);
  return ['goes nowhere', ...reasons, outlookOf(decision, unmet)];
}

/** A profile waits for its peers, never for what it lacks itself. */
function outlookOf({ waitable }: JsonObject, unmet: readonly JsonObject[]): string {
  if (waitable === true) return 'This may pass: with on_blocked queue or reroute it waits.';
  if (unmet.length > 0 && unmet.every(({ transient }) => transient === true))
    return 'This may pass, and it does not wait for it: dispatch it again later.';
  return 'Waiting would not help.';
}
