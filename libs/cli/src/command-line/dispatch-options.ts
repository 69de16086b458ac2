import { randomUUID } from 'node:crypto';
import { decodeDispatch, FleetError, type JsonObject, PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import { UsageError, wholeNumber } from './options.ts';

/** What of a dispatch can be said on the command line. */
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

/** The TASK_DISPATCH that these options stand for. Throws UsageError that names every wrong field at once. */
export function dispatchOf(values: Values): JsonObject {
  const dispatch: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: PROTOCOL_VERSION,
    task: given({
      task_id: text(values['task-id']) ?? randomUUID(),
      priority: text(values.priority),
      token_budget: number('budget', values.budget),
      write: values['read-only'] === true ? false : undefined,
    }),
    requirements: given({
      required_mcp: names(values.mcp),
      required_capabilities: names(values.capability),
      model_tier: given({
        min: text(values['tier-min']),
        max: text(values['tier-max']),
        prefer: text(values['tier-prefer']),
      }),
      min_context_window: number('context-window', values['context-window']),
    }),
    ...given({ deadline: text(values.deadline) }),
    brief: text(values.brief) ?? 'Where would this go?',
    routing: { target: text(values.target) ?? 'auto' },
  };
  try {
    decodeDispatch(dispatch);
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'INVALID_PARAMS')) throw error;
    throw new UsageError(error.fields.map(({ path, reason }) => `${path}: ${reason}`).join('\n  '));
  }
  return dispatch;
}

/** Whether any of these options was given. */
export function describesDispatch(values: Values): boolean {
  return Object.keys(DISPATCH_OPTIONS).some((key) => key in values);
}

type Option = Values[keyof Values];

const text = (value: Option): string | undefined => (typeof value === 'string' ? value : undefined);

function number(name: string, value: Option): number | undefined {
  return typeof value === 'string' ? wholeNumber(name, value, 0) : undefined;
}

/** Names that were given one by one, or several with commas. */
function names(value: Option): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((each) => each.split(',')).map((each) => each.trim());
}

function given(fields: Record<string, JsonObject[string] | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
