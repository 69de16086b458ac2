import { z } from 'zod';
import { TaskDispatchWire } from '../handshake/dispatch.ts';
import { RequirementsWire } from '../handshake/requirements.ts';
import type { HintKind } from './hint-value.ts';

/** A field of a dispatch that a text carries as a hint. */
export interface Hint {
  readonly place: 'top' | 'task' | 'requirements';
  readonly name: string;
  readonly kind: HintKind;
  /** The known fields of a map. */
  readonly fields: readonly string[];
}

const { protocol_version, deadline } = TaskDispatchWire.shape;
/** The others only concern the fleet. */
const task = TaskDispatchWire.shape.task.omit({
  parent: true,
  conversation: true,
  root_id: true,
  root_caller: true,
  path: true,
}).shape;

/** Every hint, in the order of a text (docs/handshake.md#prose-peers). */
export const HINTS: readonly Hint[] = [
  ...hintsOf('top', { protocol_version }),
  ...hintsOf('task', task),
  ...hintsOf('requirements', RequirementsWire.shape),
  ...hintsOf('top', { deadline }),
];

function hintsOf(place: Hint['place'], shape: Readonly<Record<string, z.ZodType>>): Hint[] {
  return Object.entries(shape).map(([name, field]) => ({ place, name, ...formOf(field) }));
}

function formOf(field: z.core.$ZodType): Pick<Hint, 'kind' | 'fields'> {
  if (field instanceof z.ZodOptional) return formOf(field.unwrap());
  if (field instanceof z.ZodObject) return { kind: 'map', fields: Object.keys(field.shape) };
  if (field instanceof z.ZodArray) return { kind: 'words', fields: [] };
  const isText = field instanceof z.core.$ZodString || field instanceof z.ZodEnum;
  return { kind: isText ? 'word' : 'value', fields: [] };
}
