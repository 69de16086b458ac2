import { basename } from 'node:path';
import { listedProblems, readTextFile } from '@hermes-fleet/market';
import {
  type FieldError,
  FleetError,
  fieldErrors,
  type JsonObject,
  jsonAt,
  parseJson,
} from '@hermes-fleet/protocol';
import { type ControlDecision, readControlDecision } from '@hermes-fleet/protocol/control';
import { z } from 'zod';
import type { Bars } from './bars.ts';

/** A decision of a script. */
export interface ScriptedDecision {
  readonly line: number;
  /** It is made when this many bars have closed. */
  readonly afterBars: number;
  /** The time of the decision, where the script says it, ms since the epoch. */
  readonly at: number | undefined;
  readonly decision: ControlDecision;
}

const MAX_BYTES = 20_000_000;

const Line = z
  .strictObject({
    bar: z.int().min(0).optional(),
    at: z.iso.datetime({ offset: true }).optional(),
    decision: z.looseObject({}),
  })
  .refine(({ bar, at }) => (bar === undefined) !== (at === undefined), {
    path: ['bar'],
    error: 'give either bar, the number of bars before the decision, or at, its time',
  });

/** Fields of a decision that a script may leave out. */
type Defaults = Pick<JsonObject, 'concern_id' | 'account_id' | 'market_symbol'>;

/**
 * Reads a script of decisions, one JSON object per line, in the order of the bars: `{"bar": 120, "decision": {…}}` or
 * `{"at": "2026-04-16T20:15:00Z", "decision": {…}}`. The decision is the payload of `apply_control_decision`; without an id
 * it gets one by its line, and without a concern that of the backtest. Throws CONFIG_INVALID that names each wrong line and
 * field.
 */
export function readScript(file: string, bars: Bars, defaults: Defaults): ScriptedDecision[] {
  const name = basename(file);
  const problems: FieldError[] = [];
  const decisions: ScriptedDecision[] = [];
  for (const [index, text] of readTextFile(file, MAX_BYTES).split('\n').entries()) {
    if (text.trim() === '') continue;
    const line = index + 1;
    const read = readLine(text, { line, bars, defaults, before: decisions.at(-1) });
    if ('decision' in read) decisions.push(read);
    else
      for (const { path, reason } of read.problems)
        problems.push({ path: `${name}:${line}`, reason: path === '' ? reason : `${path} ${reason}` });
  }
  if (problems.length > 0)
    throw new FleetError('CONFIG_INVALID', 'the script of decisions is not valid', {
      fields: listedProblems(problems, 'script', 'problems'),
    });
  return decisions;
}

interface LineContext {
  readonly line: number;
  readonly bars: Bars;
  readonly defaults: Defaults;
  readonly before: ScriptedDecision | undefined;
}

type Problems = { readonly problems: readonly FieldError[] };

function readLine(text: string, { line, bars, defaults, before }: LineContext): ScriptedDecision | Problems {
  const problem = (path: string, reason: string): Problems => ({ problems: [{ path, reason }] });
  const value = parseJson(text);
  if (value === undefined) return problem('', 'is not JSON');
  const parsed = Line.safeParse(value);
  if (!parsed.success) return { problems: fieldErrors(parsed.error) };
  const { bar, decision } = parsed.data;
  const at = parsed.data.at === undefined ? undefined : Date.parse(parsed.data.at);
  const afterBars = bar ?? bars.closedAt(at ?? 0);
  const isInOrder = before === undefined || afterBars >= before.afterBars;
  if (!isInOrder)
    return problem(bar === undefined ? 'at' : 'bar', `is before that of line ${before.line}: keep the order`);
  if (afterBars > bars.count) return problem('bar', `is after the last bar: there are ${bars.count}`);
  const payload = jsonAt(text, ['decision']) ?? '';
  const absent = Object.entries({ decision_id: `line-${line}`, ...defaults }).filter(
    ([key]) => !Object.hasOwn(decision, key),
  );
  const reading = readControlDecision(withMembers(payload, Object.fromEntries(absent)));
  if ('decision' in reading) return { line, afterBars, at, decision: reading.decision };
  const inDecision = ({ path, reason }: FieldError): FieldError => ({
    path: path === '' ? 'decision' : `decision.${path}`,
    reason,
  });
  return { problems: reading.fields.map(inDecision) };
}

/** Adds members to the text of a JSON object, whose own members stay as they are: parsing would hide duplicates. */
function withMembers(text: string, members: JsonObject): string {
  const added = JSON.stringify(members).slice(1, -1);
  const own = text.trim().slice(1);
  const separator = added === '' || own.trim() === '}' ? '' : ',';
  return `{${added}${separator}${own}`;
}
