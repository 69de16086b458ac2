import { randomUUID } from 'node:crypto';
import { decodeDispatch, FleetError, type JsonObject, PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import { definedFields, invalidFields, wholeNumber } from './options.ts';

/** Options that describe a dispatch; the alternative is a file that holds one. */
export const DISPATCH_OPTIONS = {
  brief: { type: 'string' },
  mcp: { type: 'string', multiple: true },
  capability: { type: 'string', multiple: true },
  'tier-min': { type: 'string' },
  'tier-max': { type: 'string' },
  'tier-prefer': { type: 'string' },
  'context-window': { type: 'string' },
  priority: { type: 'string' },
  budget: { type: 'string' },
  deadline: { type: 'string' },
  target: { type: 'string' },
  'read-only': { type: 'boolean' },
  'task-id': { type: 'string' },
} as const;

type Values = { readonly [K in keyof typeof DISPATCH_OPTIONS]?: string | boolean | string[] | undefined };
type Value = Values[keyof Values];

export const describesDispatch = (values: Values): boolean =>
  Object.keys(DISPATCH_OPTIONS).some((key) => key in values);

/** Builds a TASK_DISPATCH from options. Throws UsageError that names every invalid field. */
export function dispatchOf(values: Values): JsonObject {
  const dispatch: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: PROTOCOL_VERSION,
    task: definedFields({
      task_id: text(values['task-id']) ?? randomUUID(),
      priority: text(values.priority),
      token_budget: number('budget', values.budget),
      write: values['read-only'] === true ? false : undefined,
    }),
    requirements: definedFields({
      required_mcp: names(values.mcp),
      required_capabilities: names(values.capability),
      model_tier: definedFields({
        min: text(values['tier-min']),
        max: text(values['tier-max']),
        prefer: text(values['tier-prefer']),
      }),
      min_context_window: number('context-window', values['context-window']),
    }),
    ...definedFields({ deadline: text(values.deadline) }),
    brief: text(values.brief) ?? 'Where would this go?',
    routing: { target: text(values.target) ?? 'auto' },
  };
  try {
    decodeDispatch(dispatch);
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'INVALID_PARAMS')) throw error;
    throw invalidFields(error.fields);
  }
  return dispatch;
}

const text = (value: Value): string | undefined => (typeof value === 'string' ? value : undefined);

function number(name: string, value: Value): number | undefined {
  return typeof value === 'string' ? wholeNumber(name, value, 0) : undefined;
}

/** Values of an option that may be repeated and may hold a comma-separated list. */
function names(value: Value): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((each) => each.split(',')).map((each) => each.trim());
}
