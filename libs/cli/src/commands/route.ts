import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { command, type Streams } from '../command-line/command.ts';
import { describesDispatch, dispatchOf } from '../command-line/dispatch-options.ts';
import { UsageError } from '../command-line/option-values.ts';
import { columns } from '../command-line/output.ts';
import { routeUsage } from '../command-specs/fleet.ts';
import { findProfile, readInput } from '../running/running-fleet.ts';
import { type Decision, renderVerdict, routeOf } from '../task/route-verdict.ts';

const EXIT_BLOCKED = 3;

/**
 * `fleet route`: prints where a dispatch would go now; `--explain` adds every peer that was considered, with the
 * reasons. Sends no dispatch and spends no token. Exit code 3 when no peer can take it.
 */
const routeCommand = command(routeUsage, async ({ values, env, stdin, show }) => {
  if (values.file !== undefined && describesDispatch(values))
    throw new UsageError('--file holds the whole dispatch: leave out the options that describe one');
  const described = values.file === undefined ? dispatchOf(values) : undefined;
  const target = await findProfile(values, env);
  const dispatch = described ?? (await readDispatch(values.file ?? '', stdin));
  const decision = await routeOf(target, dispatch);
  show(decision, () => [...(values.explain ? renderConsidered(decision) : []), ...renderVerdict(decision)]);
  return decision.chosen === null ? EXIT_BLOCKED : 0;
});

export const commands = [routeCommand];

/** The dispatch in a file, or on stdin for `-`. Throws INVALID_PARAMS. */
async function readDispatch(file: string, stdin: Streams['stdin']): Promise<JsonObject> {
  const dispatch = parseJson(await readInput(file, stdin, 'a TASK_DISPATCH'));
  if (isJsonObject(dispatch)) return dispatch;
  throw new FleetError('INVALID_PARAMS', `${file} must hold one TASK_DISPATCH, as a JSON object`);
}

function renderConsidered({ considered }: Decision): string[] {
  const rows = considered.map(({ peer, verdict, score, reasons }) => [
    ...[peer, verdict, verdict === 'excluded' ? null : score, reasons.join('; ')],
  ]);
  return rows.length === 0 ? [] : [...columns(['peer', 'verdict', 'score', 'reasons'], rows), ''];
}
