import { z } from 'zod';

const enabled = z.strictObject({ enabled: z.boolean() }).optional();

/** Tool domains that the source document switches and that have no meaning in this fleet. */
export const SourceTools = z.object({ tasks: enabled, introspection: enabled, models: enabled });

/** Keys of the source document's config.yaml that this fleet knows and does not need. */
export const SourceKeys = z.object({
  effort: z.string().min(1).optional(),
  defaultAgent: z.string().min(1).optional(),
  a2a_port: z.int().min(1).max(65_535).optional(),
});

interface WithSourceKeys {
  readonly effort?: string | undefined;
  readonly defaultAgent?: string | undefined;
  readonly a2a: { readonly port?: number | undefined };
  readonly tools: Partial<Record<keyof typeof SourceTools.shape, unknown>>;
}

/** One line for each key that was accepted and does nothing, with what to use instead (design 3, config.yaml). */
export function sourceKeyNotes({ effort, defaultAgent, a2a, tools }: WithSourceKeys): string[] {
  const noted: readonly (readonly [key: string, value: unknown, instead: string])[] = [
    ['effort', effort, 'every task has its own priority, which sets how deep it is verified'],
    ['defaultAgent', defaultAgent, 'the profile is the agent: its folder holds IDENTITY.md'],
    ['a2a.port', a2a.port, 'fleet.server.bind_port of fleet.yaml is the port'],
    ['tools.tasks', tools.tasks, 'tasks come over A2A, and are kept in the ledger'],
    ['tools.introspection', tools.introspection, 'the prompt says what there is, and metrics say the rest'],
    ['tools.models', tools.models, '`model` names the one model of a profile'],
  ];
  return noted
    .filter(([, value]) => value !== undefined)
    .map(([key, , instead]) => `config.yaml ${key} has no effect here: ${instead}`);
}
