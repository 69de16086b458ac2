import { type TaskDispatch, TaskDispatchWire } from '../handshake/dispatch.ts';
import { snakeize } from '../wire/casing.ts';
import { isJsonObject } from '../wire/json.ts';
import { HINTS, type Hint } from './hints.ts';
import { reportInstructions } from './report-instructions.ts';

const HEADING = 'TASK DISPATCH (inline)';

/**
 * Renders a dispatch for a prose peer (docs/handshake.md#to-a-prose-peer): a block of hints, the brief, and the report
 * instructions. Fields that only concern the fleet (path, parent, routing, unknown fields) are omitted. `parseHints`
 * restores the contract.
 */
export function renderDispatchText(dispatch: TaskDispatch): string {
  const top = snakeize(TaskDispatchWire, dispatch);
  const task = { priority: 'normal', reply_schema: 'prose' as const, ...top.task };
  const places: Record<Hint['place'], Readonly<Record<string, unknown>>> = {
    top,
    task,
    requirements: top.requirements ?? {},
  };
  const block = HINTS.flatMap((hint) => {
    const value = places[hint.place][hint.name];
    return value === undefined ? [] : [`${hint.name}: ${written(value, hint)}`];
  });
  const head = [HEADING, ...block, `Brief: ${dispatch.brief}`].join('\n');
  return `${head}\n\n${reportInstructions(task.task_id, task.reply_schema)}`;
}

/** The name of something, or a time: YAML reads it as text without quotes. */
const PLAIN = /^(?:[A-Za-z_][A-Za-z0-9_./-]*|\d{4}-\d\d-\d\dT[\d:.+-]*[\dZ])$/;
/** Words that YAML may not read as text. */
const SPECIAL = /^(?:true|false|yes|no|on|off|null|y|n)$/i;

function word(text: string): string {
  return PLAIN.test(text) && !SPECIAL.test(text) ? text : JSON.stringify(text);
}

function written(value: unknown, { kind, fields }: Pick<Hint, 'kind' | 'fields'>): string {
  if (kind === 'word' && typeof value === 'string') return word(value);
  if (kind === 'words' && Array.isArray(value)) return `[${value.map(word).join(', ')}]`;
  if (kind !== 'map' || !isJsonObject(value)) return JSON.stringify(value);
  const known = fields.flatMap((key) =>
    typeof value[key] === 'string' ? [`${key}: ${word(value[key])}`] : [],
  );
  return `{${known.join(', ')}}`;
}
